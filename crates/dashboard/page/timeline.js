  // The last and the next hour over all tasks, a minute each.
  const marks = [["x", "failed", "bad"], ["l", "late or overdue", "warn"], ["r", "runs", "run"], ["o", "ok", "ok"], ["p", "paused", "pause"], ["?", "not kept", "unknown"], ["n", "due", "due"]];
  const strip = (past, next) => {
    const all = past + next, count = (mark) => [...past].filter((it) => it === mark).length;
    const label = `last hour: ${marks.slice(0, 5).map(([mark, word]) => [count(mark), word]).filter(([number]) => number).map(([number, word]) => `${word} in ${number} min`).join(", ") || "nothing"}; next hour: due in ${[...next].filter((it) => it === "n").length} min`;
    const path = (mark) => [...all].map((it, index) => it === mark ? `M${index} ${mark === "x" ? 0 : "?p".includes(mark) ? 4 : 2}h.82V10h-.82z` : "").join("");
    return picture("strip", "120 10", label, [...marks.map(([mark, , name]) => [name, path(mark)]), ["now", "M60 0v10"]]);
  };
  shows.timeline = async () => {
    const found = await ask("timeline");
    if (route.view !== "timeline") return;
    const rank = (it) => it.past.includes("x") ? 0 : it.past.includes("l") ? 1 : 2, rowOf = (it) => tasks.get(it.name);
    const place = (it) => rowOf(it) && wrongOf(rowOf(it)) ? 0 : 1;
    const list = found.tasks.filter((it) => rowOf(it) && rowOf(it).kind !== "job").sort((a, b) => place(a) - place(b) || rank(a) - rank(b) || a.name.localeCompare(b.name));
    const at = (minutes) => clockText(Date.parse(found.now) + minutes * 60000).slice(0, 5);
    put("", headOf("Timeline"), el("ul", { class: "legend" }, ...marks.map(([, word, name]) => el("li", {}, el("i", { class: "key " + name }), " " + word))),
      tableOf("timeline", "The last and the next hour of each task, what is wrong first",
        ["Task", el("th", { class: "axis" }, el("div", {}, ...[at(-60), at(-30), "now " + at(0), at(30), at(60)].map((text) => el("span", {}, text))))],
        list.slice(0, 300).map((it) => el("tr", { class: place(it) ? null : "failing" }, cell(null, "task", el("a", { href: toTask(it.name), id: "time-" + it.name }, ...named(it.name))), cell(null, "strip", strip(it.past, it.next))))),
      list.length > 300 ? el("p", { class: "dim" }, `and ${list.length - 300} more, with nothing wrong`) : null);
  };
