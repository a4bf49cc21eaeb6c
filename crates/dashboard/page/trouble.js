  // Faults: computed from the rows of the tasks, and from the jobs, queues and nodes of the store.
  const LATE = 5000;
  // So many jobs that fail in the same way, and will be tried again, are no accident.
  const OUTAGE = 10;
  const facts = { retries: [], queues: [], parts: [], unknown: [], nodes: [], ended: [], orphans: [], errors: [], isPartial: false, storeFailure: "", at: 0, long: new Set() };
  const longest = (row) => max(0, ...row.recent.tookMs);
  // The instant at which a run of the task should have started, by its rule; 0 if it is not due.
  const dueSince = (row) => {
    if (row.isEnded || row.isPaused || row.state === "disabled") return 0;
    // The store fires the ticks of a durable task, by its own clock.
    const at = parse(row.lateSince || row.stuckSince || "") || parse(row.next || "") + (row.isDurable && info?.clockOffsetMs || 0);
    return at && now() - at > (row.isDurable ? 3 : 1) * LATE ? at : 0;
  };
  // A run that is past its next fire time is slow; one that also takes twice as long as any lately hangs.
  const hungSince = (row) => {
    if (!row.running || !row.runningSince) return 0;
    const since = parse(row.runningSince), took = now() - since, usual = longest(row), due = dueSince(row);
    if (due) return took > 2 * usual ? due : 0;
    // The store knows the runs of all processes.
    if (row.isDurable) return facts.long.has(row.name) && took > 60000 ? since + 60000 : 0;
    const is = row.recent.tookMs.length >= 5 ? took > max(60000, 10 * usual) : row.kind === "fixed_delay" && took > max(60000, 10 * (row.periodMs || 0));
    return is ? since + max(60000, 10 * usual) : 0;
  };
  // Asked for often: it is computed anew twice a second.
  const wrongs = new WeakMap();
  const wrongOf = (row) => {
    const at = floor(now() / 500), known = wrongs.get(row);
    if (known?.at === at) return known.wrong;
    const wrong = computeWrong(row);
    wrongs.set(row, { at, wrong });
    return wrong;
  };
  const isWrong = (row, kind) => { const wrong = wrongOf(row); return Boolean(wrong) && wrong.kind === kind; };
  const computeWrong = (row) => {
    const hung = hungSince(row);
    if (hung) return { kind: "hung", since: parse(row.runningSince), due: hung };
    const due = row.running ? 0 : dueSince(row);
    if (due) return { kind: "late", since: due };
    if (row.streak && !(row.isEnded && row.state !== "failed")) return { kind: "failing", since: parse(row.failingSince || (row.last?.endedAt) || "") || 0 };
    return null;
  };
  // The tasks that hold the threads for which a task waits, the longest first.
  const holders = (row) => {
    const pool = info?.pools.find((it) => it.name === row.pool), held = allRows().filter((it) => it.running && !it.isAsync && it.pool === row.pool && it.name !== row.name);
    const runs = held.reduce((sum, it) => sum + it.running, 0);
    return pool && runs >= pool.coreSize ? held.sort((a, b) => parse(a.runningSince) - parse(b.runningSince)) : [];
  };
  const victims = (row) => allRows().filter((it) => isWrong(it, "late") && holders(it).some((by) => by.name === row.name));
  const heldBy = (row) => {
    const by = holders(row);
    if (!by.length) return row.isDurable || row.kind === "job" ? "" : `waits for a thread of pool ${row.pool}`;
    const more = by.length > 2 ? ` and ${by.length - 2} more` : "";
    return `waits for pool ${row.pool}, held by ` + by.slice(0, 2).map((it) => `${it.name} for ${since(it.runningSince)}`).join(", ") + more;
  };
  const isCritical = (row) => row.tags.includes("critical");
  const isDown = (row) => Boolean(info?.down.includes(row.name));

  // The items of the bar: [level, link, strong, text]; "wait" is no fault, and does not count.
  const troubles = () => {
    const items = [], all = allRows(), counts = {};
    // Each fault counts in the section to which it leads, but for parts of the one before; so the title has a number if there is one.
    const add = (level, is, href, strong, text, count = 1, section = href.split(/[/?]/)[1]) => { if (is) { items.push([level, href, strong, text]); if (level === "bad") counts[section] = (counts[section] || 0) + count; } };
    const bad = (...item) => add("bad", ...item), wait = (...item) => add("wait", ...item);
    // Those with one kind of fault, the oldest first; one alone stands by its name. A job that runs long stands below.
    const faults = all.map((row) => ({ row, ...wrongOf(row) })).filter((it) => it.kind && (it.kind !== "hung" || !facts.long.has(it.row.name))).sort((a, b) => a.since - b.since);
    const faulty = (kind, inWords) => {
      const found = faults.filter((it) => it.kind === kind), [first] = found;
      if (!first) return;
      const { row, since } = first, text = inWords(since ? span(now() - since) : "", row);
      if (found.length === 1) bad(true, toTask(row.name), "1 " + kind, row.name + ", " + text);
      else bad(true, "#/tasks?state=" + kind, found.length + " " + kind, text, found.length);
    };
    const { down } = info, { queues, unknown, nodes, ended, orphans, errors, retries, storeFailure } = facts;
    bad(down.length, down.length === 1 ? toTask(down[0]) : "#/tasks?state=down", "DOWN", down.length === 1 ? "critical: " + down[0] : down.length + " critical tasks", faults.length ? 0 : 1);
    faulty("hung", (age) => "running for " + age);
    faulty("late", (age, row) => { const [by] = holders(row); return "by " + age + (by ? `, pool ${row.pool} held by ${by.name}` : ""); });
    faulty("failing", (age) => age && "for " + age);
    const parked = parkedIn(queues);
    add(info.storeIsOpening ? "wait" : "bad", storeFailure, "#/queues", info.storeIsOpening ? "store opening" : "store down" + (info.storeDownSince ? " for " + since(info.storeDownSince) : ""), storeFailure.split("; help:")[0]);
    wait(facts.countFailure, "#/queues", "jobs counted " + stored(facts.asOf), facts.countFailure);
    bad(parked, "#/jobs?state=parked", plural(parked) + " parked", "", parked);
    const groups = (list, state, all, least) => { for (const it of list.slice(0, list[0]?.count > 1 ? 3 : 1)) add(it.count < least ? "wait" : "bad", all, groupLink(state, it), min(it.count, all) + " × " + it.task, `${it.error}, for ${ageOf(it.firstAt, storeNow())}`, 0); };
    groups(errors, "parked", parked, 1);
    const retrying = retryingIn(queues), isOutage = retries.some((it) => it.count >= OUTAGE);
    add(isOutage ? "bad" : "wait", retrying, "#/jobs?state=ready", plural(retrying) + (retrying === 1 ? " waits" : " wait") + " to run again", "", retrying);
    groups(retries, "ready", retrying, OUTAGE);
    const runs = queues.flatMap((queue) => queue.tasks.map((it) => ({ ...it, queue: queue.queue }))).filter((it) => it.hasLongRun);
    for (const it of runs.sort((a, b) => b.oldestRunningMs - a.oldestRunningMs).slice(0, 3)) bad(true, toJobs({ state: "running", task: it.task }), "job of " + it.task, `runs for ${span(it.oldestRunningMs)} in queue ${it.queue}`);
    const waiting = queues.filter((queue) => !queue.pause && queue.tasks.some((it) => (it.held >= 0 ? it.oldestOpenMs : it.oldestMs) > 60000 && !it.pause)).sort((a, b) => b.oldestMs - a.oldestMs);
    for (const it of waiting.slice(0, 3)) bad(true, toJobs({ state: "ready", queue: it.queue }), plural(it.due) + " due", `for ${span(it.oldestMs)} in queue ${it.queue}`, 1, "queues");
    for (const it of unknown.slice(0, 3)) {
      const texts = [it.due && plural(it.due) + " due", it.schedules.length && "its schedule does not fire", it.nearest && "nearest name: " + it.nearest, it.elsewhere];
      bad(true, toJobs({ state: "ready", task: it.task }), it.version ? `no process knows version ${it.version} of ${it.task}` : `no process ${it.elsewhere ? "runs" : "has"} ${it.task}`, texts.filter(Boolean).join("; "), 1, "queues");
    }
    const expired = nodes.filter((it) => it.hasRunOut), isNew = (it) => storeNow() - parse(it.at) < 600000;
    for (const { label } of expired) bad(!nodes.some((it) => it.label === label && !it.hasRunOut), "#/nodes", "node " + label, "does not renew its lease");
    const lost = ended.filter((it) => it.isLost), away = lost.filter((it) => !it.isBack), lostText = (it) => `${it.label} lost ${stored(it.at)}${it.jobs ? `, with ${plural(it.jobs)}` : ""}`;
    const living = nodes.length - expired.length, count = living + new Set(away.map((it) => it.label)).size;
    if (away.length) add(away.some(isNew) ? "bad" : "wait", true, "#/nodes", `${living} of ${count} processes`, away.slice(0, 3).map(lostText).join("; "));
    const back = lost.filter((it) => it.isBack);
    for (const label of [...new Set(back.map((it) => it.label))].slice(0, 3)) { const own = back.filter((it) => it.label === label), often = own.filter(isNew).length; add(often > 1 ? "bad" : "wait", true, "#/nodes", "node " + label, `was lost ${often > 1 ? often + " times in 10 min, the last " : ""}${stored(own[0].at)}, and is back`); }
    const astray = nodes.filter((it) => it.isClockOff);
    for (const it of astray.slice(0, 3)) bad(true, "#/nodes", "clock of " + it.label, offText(it.clockOffsetMs));
    const whose = (list, name) => list.slice(0, 3).map((it) => it[name] + byWhom(it.pause) + pausedJobs(it)).join("; ");
    const halted = (list, what, name, href = `#/${what}s`) => wait(list.length, href, list.length === 1 ? what + " paused" : `${list.length} ${what}s paused`, whose(list, name));
    halted(nodes.filter((it) => it.pause), "node", "label");
    bad(orphans.length, "#/nodes", plural(orphans.length), "of processes that are gone");
    const paused = all.filter((row) => row.isPaused && !row.isEnded);
    wait(paused.length, "#/tasks?state=paused", paused.length + " paused", whose(paused, "name"));
    halted(queues.filter((it) => it.pause), "queue", "queue");
    halted(facts.parts, "partition", "name", toTask(facts.parts[0]?.task));
    return { items, counts };
  };
  const byWhom = ({ by, reason } = {}) => (by ? " by " + by : "") + (reason ? ", " + reason : "");
  const offText = (ms) => `is ${span(ms)} ${ms > 0 ? "ahead of" : "behind"} the store's`;
  const sum = (list) => list.reduce((all, it) => all + it, 0);
  const parkedIn = (queues) => sum(queues.map((it) => it.parked)), retryingIn = (queues) => sum(queues.map((it) => it.retrying));
  const groupLink = (state, it) => toJobs({ state, task: it.task, error: it.error });
  const pausedJobs = ({ due, later, retrying }) => due + later ? `: ${plural(due + later)} ${due + later === 1 ? "waits" : "wait"}${retrying ? `, ${retrying} of them with an error` : ""}` : "";

  // The bar, the counts in the navigation, the title and the icon.
  let said = null, drawn = "";
  const icons = { bad: ["#c62828", "M16 8v10M16 23v1"], good: ["#2e7d32", "M10 17l4 4 8-9"], unknown: ["#77808f", "M12 13a4 4 0 1 1 5 4l-1 2M16 23v1"] };
  const icon = (name) => {
    if (document.documentElement.dataset.icon === name) return;
    document.documentElement.dataset.icon = name;
    const [colour, path] = icons[name];
    $("icon").href = "data:image/svg+xml," + encode(`<svg xmlns='${SVG}' viewBox='0 0 32 32'><circle cx='16' cy='16' r='15' fill='${colour}'/><path d='${path}' fill='none' stroke='#fff' stroke-width='4' stroke-linecap='round'/></svg>`);
  };
  const bar = () => {
    if (!info) return;
    const isKnown = knownAt && !lostAt, found = knownAt ? troubles() : { items: [], counts: {} };
    const { counts } = found;
    const total = sum(Object.values(counts)), rows = found.items, isWrong = rows.some(([level]) => level === "bad"), level = isKnown ? isWrong ? "bad" : "good" : "unknown";
    for (const link of every("#sections a")) { const count = counts[link.dataset.view] || 0, badge = link.querySelector(".count"); badge.hidden = !count; set(badge, String(count)); link.title = count ? count + " need a look" : ""; }
    document.title = (isKnown ? total ? `(${total}) ` : "" : "(?) ") + (route.name ? route.name + " · " : "") + info.application + " · scheduler";
    icon(level);
    if (!isKnown) rows.unshift([level, "", isSilent ? "The process does not answer" : knownAt ? "Not connected" : "Nothing is known yet", knownAt ? "all below is as of " + clockText(knownAt) : ""]);
    else if (!isWrong) rows.unshift([level, "", "Nothing is wrong", ""]);
    const next = JSON.stringify(rows);
    if (next === drawn) return;
    drawn = next;
    $("trouble").className = "trouble " + level;
    const focused = document.activeElement?.closest("#trouble a"), at = focused?.getAttribute("href");
    fill($("trouble-list"), rows.map(([level, href, strong, text]) => el("li", { class: level }, el(href ? "a" : "span", { href: href || null },
      el("i", { bad: "▲", wait: "‖", good: "✔", unknown: "?" }[level]), " ", el("b", strong), text && el("bdi", ": " + text)))));
    if (at) [...every("#trouble a")].find((it) => it.getAttribute("href") === at)?.focus({ preventScroll: true });
  };
  // Screen readers hear what has changed, not what goes on.
  const heard = new Map();
  const tell = () => {
    const present = new Map();
    for (const row of tasks.values()) { const wrong = wrongOf(row); if (wrong) present.set(row.name, wrong.kind); }
    const words = { hung: "hangs", late: "is late", failing: "failed" };
    const texts = [];
    if (said) {
      const may = (name) => { const last = heard.get(name) || 0; if (wall() - last < 60000) return false; heard.set(name, wall()); return true; };
      for (const [name, kind] of present) if (said.get(name) !== kind && may(name + kind)) { const row = tasks.get(name), why = kind === "failing" && row.last?.message; texts.push(`${name} ${words[kind]}${why ? ": " + why : ""}`); }
      for (const name of said.keys()) if (!present.has(name) && tasks.has(name) && may(name + "ok")) texts.push(`${name} is well again`);
    }
    said = present;
    if (texts.length) announce(texts.slice(0, 3).join(". ") + (texts.length > 3 ? `. And ${texts.length - 3} more` : ""));
  };

  // Asks for what the stream does not have.
  const askQueues = async () => {
    const { queues, unknownTasks: unknown, asOf, countFailure, pausedPartitions } = await ask("queues");
    const long = new Set(queues.flatMap((it) => it.tasks).filter((it) => it.hasLongRun).map((it) => it.task));
    Object.assign(facts, { queues, unknown, asOf, countFailure, long, parts: pausedPartitions.map((it) => ({ ...it, name: `${it.partition} of ${it.task}` })) });
    return queues;
  };
  let watching = 0, asked = 0;
  const watch = async () => {
    clearTimeout(watching);
    if (info && !$("sign-in-form").offsetParent) {
      try {
        await about();
        // A hidden page has its title and its icon.
        if (hid() || isPolling) { await pollTasks(); lostAt = 0; isSilent = false; }
        if (info.sections.includes("jobs")) {
          const counts = () => [parkedIn(facts.queues), retryingIn(facts.queues)], before = counts();
          await askQueues();
          const [parked, retrying] = counts(), isDue = (asked += 1) % 6 === 0;
          facts.storeFailure = info.storeFailure || "";
          Object.assign(facts, await ask("nodes"));
          if (!parked) facts.errors = [];
          else if (parked !== before[0] || isDue) Object.assign(facts, await ask("jobs:errors?state=parked"));
          if (!retrying) facts.retries = [];
          else if (retrying !== before[1] && !facts.retries.length || isDue) facts.retries = (await ask("jobs:errors?state=ready")).errors;
        }
      } catch (error) { if (hid() && error instanceof TypeError) lostAt = lostAt || wall(); if (error.status === 503 || error.status === 500) facts.storeFailure = error.message; }
      bar();
    }
    clearTimeout(watching);
    watching = setTimeout(watch, hid() ? 30000 : 5000);
  };

