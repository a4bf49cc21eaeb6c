  // The last and the next hour over all tasks, a minute each.
  const marks = [["x", "failed", "bad"], ["l", "late or overdue", "warn"], ["r", "runs", "run"], ["o", "ok", "ok"], ["p", "paused", "pause"], ["?", "not kept", "unknown"], ["n", "due", "due"]];
  const strip = (past, next) => {
    const all = past + next, count = (mark) => [...past].filter((it) => it === mark).length;
    const label = `last hour: ${marks.slice(0, 5).map(([mark, word]) => [count(mark), word]).filter(([number]) => number).map(([number, word]) => `${word} in ${number} min`).join(", ") || "nothing"}; next hour: due in ${[...next].filter((it) => it === "n").length} min`;
    const path = (mark) => [...all].map((it, index) => it === mark ? `M${index} ${mark === "x" ? 0 : "?p".includes(mark) ? 4 : 2}h.82V10h-.82z` : "").join("");
    return picture("strip", "120 10", label, [...marks.map(([mark, , name]) => [name, path(mark)]), ["now", "M60 0v10"]]);
  };
  // Runs and waits of the last hour: a bar for each minute.
  const bars = (list, top) => list.map((it, index) => it ? `M${index} 30v-${(1 + 28 * it / top).toFixed(1)}h.82V30z` : "").join("");
  const figures = (id, title, it, unknown) => {
    const ran = it.succeeded.map((count, index) => count + it.failed[index]), most = max(...ran), longest = max(...it.longestWaitMs), started = sum(it.started), failed = sum(it.failed);
    const figure = (label, text, paths) => el("figure", el("figcaption.small", text), picture("strip chart", "60 30", label, [["unknown", unknown ? `M0 0h${unknown}V30H0z` : ""], ...paths]));
    return card(id, title,
      figure("runs in each of the last 60 minutes", [`${sum(ran)} runs, at most ${most} a minute; `, el("span", { class: failed && "is-bad" }, failed + " failed")], [["ok", bars(ran, most)], ["bad", bars(it.failed, most)]]),
      figure("longest and mean wait in each of the last 60 minutes",
        [started ? `Wait for the start: ${took(sum(it.waitMs.map((wait, index) => wait * it.started[index])) / started)} on average (strong), at most ${took(longest)}` : "Nothing has started."],
        [["due", bars(it.longestWaitMs, longest)], ["run", bars(it.waitMs, longest)]]));
  };
  shows.timeline = async () => {
    const [found, hour] = await Promise.all([ask("timeline"), ask("throughput")]);
    if (route.view !== "timeline") return;
    const rank = (it) => it.past.includes("x") ? 0 : it.past.includes("l") ? 1 : 2, rowOf = (it) => tasks.get(it.name);
    const place = (it) => rowOf(it) && wrongOf(rowOf(it)) ? 0 : 1;
    const list = found.tasks.filter((it) => rowOf(it) && rowOf(it).kind !== "job").sort((a, b) => place(a) - place(b) || rank(a) - rank(b) || a.name.localeCompare(b.name));
    const at = (minutes) => clockText(parse(found.now) + minutes * 60000).slice(0, 5);
    const minute = (text) => floor(parse(text) / 60000), unknown = max(0, 59 - minute(hour.now) + minute(hour.knownSince));
    const queues = hour.queues.sort((a, b) => sum(b.started) - sum(a.started));
    put("", headOf("Timeline"), el("div.grid", figures("hour-all", "Runs of this process, last hour", hour.all, unknown), queues.slice(0, 11).map((it) => figures("hour-" + it.queue, "Queue " + it.queue + ", last hour", it, unknown))),
      queues.length > 11 && el("p.dim", `and ${queues.length - 11} queues with fewer runs`),
      el("ul.legend", marks.map(([, word, name]) => el("li", el("i", { class: "key " + name }), " " + word))),
      tableOf("timeline", "The last and the next hour of each task, what is wrong first",
        ["Task", el("th.axis", el("div", [at(-60), at(-30), "now " + at(0), at(30), at(60)].map((text) => el("span", text))))],
        list.slice(0, 300).map((it) => el("tr", { class: !place(it) && "failing" }, cell(null, "task", el("a", { href: toTask(it.name), id: "time-" + it.name }, named(it.name))), cell(null, "strip", strip(it.past, it.next))))),
      list.length > 300 && el("p.dim", `and ${list.length - 300} more, with nothing wrong`));
  };
