  // The last and the next hour over all tasks, a minute each.
  let timed = 0;
  const marks = [["x", "failed", "bad"], ["l", "late or overdue", "warn"], ["r", "runs", "run"], ["o", "ok", "ok"], ["p", "paused", "pause"], ["?", "not kept", "unknown"], ["n", "due", "due"]];
  const strip = (past, next) => {
    const all = past + next, count = (mark) => [...past].filter((it) => it === mark).length;
    const label = `last hour: ${marks.slice(0, 5).map(([mark, word]) => [count(mark), word]).filter(([number]) => number).map(([number, word]) => `${word} in ${number} min`).join(", ") || "nothing"}; next hour: due in ${[...next].filter((it) => it === "n").length} min`;
    const image = svg("svg", { class: "strip", viewBox: "0 0 120 10", preserveAspectRatio: "none", role: "img", "aria-label": label });
    for (const [mark, , name] of marks) { const path = [...all].map((it, index) => it === mark ? `M${index} ${"x".includes(mark) ? 0 : "?p".includes(mark) ? 4 : 2}h.82V10h-.82z` : "").join(""); if (path) image.append(svg("path", { class: name, d: path })); }
    image.append(svg("path", { class: "now", d: "M60 0v10" }));
    const title = svg("title", {}); title.textContent = label; image.append(title);
    return image;
  };
  const showTimeline = async () => {
    clearTimeout(timed);
    if (route.view !== "timeline" || document.hidden) return;
    try {
      const found = await ask("timeline");
      if (route.view !== "timeline") return;
      const rank = (it) => it.past.includes("x") ? 0 : it.past.includes("l") ? 1 : 2, rowOf = (it) => tasks.get(it.name);
      const isWrong = (it) => rowOf(it) && wrongOf(rowOf(it)) ? 0 : 1;
      const list = found.tasks.filter((it) => rowOf(it) && rowOf(it).kind !== "job").sort((a, b) => isWrong(a) - isWrong(b) || rank(a) - rank(b) || a.name.localeCompare(b.name));
      const at = (minutes) => clockText(Date.parse(found.now) + minutes * 60000).slice(0, 5);
      put("timeline", headOf("Timeline"), el("ul", { class: "legend" }, ...marks.map(([, word, name]) => el("li", {}, el("i", { class: "key " + name, "aria-hidden": "true" }), " " + word))),
        el("table", { id: "timeline", role: "table" }, el("caption", { class: "hidden" }, "The last and the next hour of each task, what is wrong first"),
          el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, el("th", { scope: "col", role: "columnheader" }, "Task"), el("th", { scope: "col", role: "columnheader", class: "axis" }, el("div", {}, el("span", {}, at(-60)), el("span", {}, at(-30)), el("span", {}, "now " + at(0)), el("span", {}, at(30)), el("span", {}, at(60)))))),
          el("tbody", { role: "rowgroup" }, ...list.slice(0, 300).map((it) => el("tr", { role: "row", class: isWrong(it) ? null : "failing" }, el("td", { role: "cell", class: "task" }, el("a", { href: "#/tasks/" + encodeURIComponent(it.name), id: "time-" + it.name }, ...named(it.name))), el("td", { role: "cell", class: "strip" }, strip(it.past, it.next)))))),
        list.length > 300 ? el("p", { class: "dim" }, `and ${list.length - 300} more, with nothing wrong`) : null);
    } catch (error) { if (error.status === 401) return; set($("store-failure"), reached(error)); $("store-failure").hidden = false; }
    timed = setTimeout(showTimeline, 10000);
  };
  document.addEventListener("visibilitychange", showTimeline);
  views.timeline = { title: "Timeline", show: () => { painted = ""; $("store").replaceChildren(); $("store-failure").hidden = true; $("store-section").hidden = false; showTimeline(); } };
