  // What a store keeps: jobs, queues, nodes. The page asks again every two seconds while it shows them.
  const POLL = 2000;
  const states = ["parked", "running", "ready", "done", "cancelled"];
  let polling = 0, jobsState = "", jobsAfter = [], painted = "", parkedBefore = null;
  const jobIcon = (job) => ({ parked: ["✖", "parked", "is-bad"], running: ["▶", job.isCancelRequested ? "asked to stop" : "running", "is-run"], ready: job.attempt ? ["↻", "waits to run again", "is-warn"] : ["●", "ready", ""], done: ["✔", "done", "is-good"], cancelled: ["■", "cancelled", ""] }[job.state]);
  const when = (job) => job.finishedAt ? ["ended " + ago(job.finishedAt), job.finishedAt, job.finishedAtLocal] : job.state === "running" ? ["since " + ago(job.startedAt).replace(" ago", ""), job.startedAt, job.startedAtLocal] : Date.parse(job.runAt) > now() ? ["due " + until(job.runAt), job.runAt, job.runAtLocal] : ["due since " + ago(job.runAt).replace(" ago", ""), job.runAt, job.runAtLocal];
  const jobLink = (job, text) => el("a", { href: "#/jobs/" + job.id, id: "job-" + job.id, "aria-label": `Job ${job.id} of ${job.task}` }, ...(text ? [text] : named(job.task)));
  const shortId = (id) => "…" + id.slice(-12);
  const cell = (label, className, ...children) => el("td", { role: "cell", "data-label": label, class: className }, ...children);
  const tableOf = (id, caption, heads, rows) => el("table", { id, role: "table" }, el("caption", { class: "hidden" }, caption),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...heads.map((text) => el("th", { scope: "col", role: "columnheader", class: text ? null : "act" }, text || el("span", { class: "hidden" }, "Actions"))))),
    el("tbody", { role: "rowgroup" }, ...rows));
  // Puts new elements in, and leaves the focus where it was.
  const put = (key, ...children) => {
    const focused = document.activeElement && document.activeElement.id, chosen = getSelection();
    if (!chosen.isCollapsed && $("store").contains(chosen.anchorNode)) return;
    painted = key;
    $("store").replaceChildren(...children.filter(Boolean));
    if (focused && $(focused) && $(focused) !== document.activeElement) $(focused).focus({ preventScroll: true });
  };
  const jobButton = (job, action, text) => el("button", { type: "button", id: action + "-" + job.id, "aria-label": `${text.replace("…", "")} job ${job.id} of ${job.task}`, on: { click: () => action === "delete" ? sure(job) : jobAct(job, action) } }, text);
  const jobButtons = (job) => !info.visitor.mayAct ? [] : job.state === "running" ? (job.isCancelRequested ? [] : [jobButton(job, "cancel", "Ask to stop")]) : [jobButton(job, "retry", job.state === "ready" ? "Run now" : "Retry"), " ", job.state === "ready" ? jobButton(job, "cancel", "Cancel") : jobButton(job, "delete", "Delete…")];
  const jobAct = async (job, action) => {
    try { const row = await ask(`jobs/${job.id}/${action}`, {}); toast(`${job.task} ${shortId(job.id)}: ` + { retry: "is due now", cancel: row.state === "running" ? "asked to stop" : "cancelled", delete: "deleted" }[action]); if (action === "delete" && route.view === "job") location.hash = "#/jobs"; else poll(); }
    catch (error) { if (error.status !== 401) toast(error.message); }
  };
  const sure = (job) => { $("sure").dataset.id = job.id; $("sure").job = job; set($("sure-text"), `Job ${job.id} of ${job.task} will be deleted, with its error and its payload.`); $("sure").showModal(); $("sure-cancel").focus(); };
  $("sure-cancel").addEventListener("click", () => $("sure").close());
  $("sure-form").addEventListener("submit", () => jobAct($("sure").job, "delete"));

  const headOf = (title, ...more) => el("div", { class: "head" }, el("h1", { id: "store-title", tabindex: "-1" }, title), ...more);
  const showJobs = async () => {
    const sums = { ready: 0, running: 0, parked: 0 };
    const { queues } = await ask("queues");
    for (const queue of queues) { sums.ready += queue.due + queue.later; sums.running += queue.running; sums.parked += queue.parked; }
    if (!jobsState) jobsState = sums.parked ? "parked" : sums.running ? "running" : sums.ready ? "ready" : "done";
    if (parkedBefore !== null && sums.parked > parkedBefore) announce(`${sums.parked} jobs are parked`);
    parkedBefore = sums.parked;
    const wanted = jobsState, after = jobsAfter.at(-1), page = await ask(`jobs?limit=50&state=${jobsState}` + (after ? "&after=" + after : ""));
    if (route.view !== "jobs" || wanted !== jobsState || after !== jobsAfter.at(-1)) return;
    const tabs = el("div", { class: "tabs", role: "group", "aria-label": "State" }, ...states.map((state) => el("button", { type: "button", id: "state-" + state, "aria-pressed": String(state === jobsState), on: { click: () => { jobsState = state; jobsAfter = []; poll(); } } }, state + (state in sums ? " " + sums[state] : ""))));
    const rows = page.jobs.map((job) => {
      const [icon, word, className] = jobIcon(job), [text, at, local] = when(job);
      return el("tr", { role: "row", class: job.state === "parked" ? "failing" : null },
        cell(null, "task", jobLink(job), el("span", { class: "status sub " + className }, el("i", { "aria-hidden": "true" }, icon), " " + word)),
        cell("Job", "mono", shortId(job.id), job.key ? el("span", { class: "sub" }, "key " + job.key) : null, job.schedule && job.schedule !== job.task ? el("span", { class: "sub" }, "of " + job.schedule) : null),
        cell("Queue", null, job.queue, job.priority === "normal" ? null : el("span", { class: "sub" }, job.priority)),
        cell("When", "when", time(at, text, local, "age")),
        cell("Attempts", null, `${job.attempt} of ${job.maxAttempts}`, job.lost ? el("span", { class: "sub" }, `lost ${job.lost}×`) : null),
        cell("Error", "last", el("span", { class: "sub error" }, job.error || "")),
        cell(null, "act acts", ...jobButtons(job)));
    });
    const pages = page.hasMore || jobsAfter.length ? el("p", { class: "more" },
      jobsAfter.length ? el("button", { type: "button", id: "jobs-first", on: { click: () => { jobsAfter = []; poll(); } } }, "First page") : null, " ",
      page.hasMore ? el("button", { type: "button", id: "jobs-next", on: { click: () => { jobsAfter.push(page.jobs.at(-1).id); poll(); scrollTo(0, 0); } } }, "Next page") : null) : null;
    put("", headOf("Jobs"), tabs, rows.length ? tableOf("jobs", `Jobs that are ${jobsState}, the oldest first`, ["Task", "Job", "Queue", "When", "Attempts", "Error", ""], rows) : el("p", { class: "note" }, `No job is ${jobsState}.`), pages);
  };

  const showJob = async () => {
    const id = route.name, job = await ask("jobs/" + encodeURIComponent(id));
    if (route.view !== "job" || route.name !== id) return;
    const key = JSON.stringify(job), [icon, word, className] = jobIcon(job), at = (name) => job[name] && time(job[name], `${job[name + "Local"]}, ${Date.parse(job[name]) > now() ? until(job[name]) : ago(job[name])}`, job[name]);
    if (painted === key) return;
    const isTask = tasks.has(job.task);
    put(key, el("p", { class: "crumb" }, el("a", { href: "#/jobs", id: "back" }, "← All jobs")),
      el("div", { class: "title" }, el("h1", { id: "store-title", tabindex: "-1" }, ...named(job.task)), el("span", { class: "status " + className }, el("i", { "aria-hidden": "true" }, icon), " " + word), el("div", { class: "buttons act" }, ...jobButtons(job))),
      job.error ? el("section", { class: "note " + (job.state === "parked" ? "bad" : "warn"), "aria-label": "Error" }, el("pre", {}, job.error)) : null,
      el("div", { class: "grid" },
        el("section", { class: "card", "aria-labelledby": "h-job" }, el("h2", { id: "h-job" }, "Job"), el("dl", { class: "facts" },
          ...fact("Identity", el("code", {}, job.id)), ...fact("Task", isTask ? el("a", { href: "#/tasks/" + encodeURIComponent(job.task) }, job.task) : job.task), ...fact("Queue", job.queue + (job.priority === "normal" ? "" : ", " + job.priority)), ...fact("Key", job.key),
          ...fact("Schedule", job.schedule && job.schedule + (job.tick ? "" : ", by hand")), ...fact("Tick", at("tick")), ...fact("Missed before", job.missed ? String(job.missed) : ""))),
        el("section", { class: "card", "aria-labelledby": "h-times" }, el("h2", { id: "h-times" }, "Times"), el("dl", { class: "facts" }, ...fact("Accepted", at("createdAt")), ...fact("Due", at("runAt")), ...fact("Started", at("startedAt")), ...fact("Ended", at("finishedAt")))),
        el("section", { class: "card", "aria-labelledby": "h-attempts" }, el("h2", { id: "h-attempts" }, "Attempts"), el("dl", { class: "facts" },
          ...fact("Attempts", `${job.attempt} of ${job.maxAttempts}`), ...fact("Lost", job.lost ? `${job.lost}×: its process died` : ""), ...fact("Unreadable", job.undecoded ? `${job.undecoded}×: its payload could not be decoded` : ""), ...fact("When lost", job.onLost === "rerun" ? "it runs again" : "it is parked"),
          ...fact("Fence", job.fence ? String(job.fence) : ""), ...fact("Session", job.session && el("code", {}, job.session))))),
      job.payload ? el("section", { class: "card", "aria-labelledby": "h-payload" }, el("h2", { id: "h-payload" }, "Payload"), job.payload.isHidden ? el("p", { class: "dim" }, `${job.payload.bytes} bytes, hidden from you.`) : el("pre", { id: "payload", tabindex: "0", "aria-labelledby": "h-payload" }, job.payload.text + (job.payload.isCut ? "\n…" : ""))) : null);
  };

  const showQueues = async () => {
    const { queues } = await ask("queues");
    if (route.view !== "queues") return;
    const row = (it, name, isPart) => el("tr", { role: "row", class: isPart ? "part" : null }, cell(null, "task", name), cell("Due", "number", String(it.due)), cell("Later", "number", String(it.later)), cell("Running", "number", String(it.running)), cell("Parked", "number", it.parked ? el("span", { class: "is-bad" }, "✖ " + it.parked) : "0"), cell("Longest wait", "number", it.oldestMs === undefined ? "–" : span(it.oldestMs)));
    put("", headOf("Queues"), queues.length ? tableOf("queues", "Queues, each with the tasks of its jobs", ["Queue", "Due", "Later", "Running", "Parked", "Longest wait"], queues.flatMap((queue) => [row(queue, el("strong", {}, queue.queue)), ...queue.tasks.map((task) => row(task, task.task, true))])) : el("p", { class: "note" }, "No job waits, runs or is parked."));
  };

  const showNodes = async () => {
    const { nodes, orphans } = await ask("nodes");
    if (route.view !== "nodes") return;
    const held = (jobs) => jobs.length ? el("ul", {}, ...jobs.slice(0, 20).map((job) => el("li", {}, jobLink(job), el("span", { class: "dim" }, " since " + ago(job.startedAt).replace(" ago", "")))), jobs.length > 20 ? el("li", { class: "dim" }, `and ${jobs.length - 20} more`) : null) : "none";
    const rows = nodes.map((node) => el("tr", { role: "row", class: node.hasRunOut ? "failing" : null },
      cell(null, "task", el("strong", {}, node.label), el("span", { class: "sub mono" }, shortId(node.session))), cell("Build", null, node.build || "–"), cell("Since", "when", time(node.openedAt, ago(node.openedAt).replace(" ago", ""), node.openedAtLocal, "age")),
      cell("Lease", null, el("span", { class: "outcome " + (node.hasRunOut ? "is-bad" : "is-good") }, node.hasRunOut ? "✖ has run out" : "✔ holds")), cell("Jobs", null, held(node.jobs))));
    put("", headOf("Nodes"), rows.length ? tableOf("nodes", "Processes that use the store, and the jobs that they have", ["Process", "Build", "Since", "Lease", "Jobs"], rows) : el("p", { class: "note" }, "No process uses the store."),
      orphans.length ? el("section", { class: "note warn" }, el("h2", {}, "Jobs of processes that are gone"), el("p", {}, "Another process takes them over soon."), held(orphans)) : null);
  };

  const shows = { jobs: showJobs, job: showJob, queues: showQueues, nodes: showNodes };
  const poll = async () => {
    clearTimeout(polling);
    const show = shows[route.view];
    if (!show || document.hidden) return;
    try { await show(); $("store-failure").hidden = true; $("store").classList.remove("stale"); }
    catch (error) { if (error.status === 401) return; set($("store-failure"), error.status === 404 ? error.message : `${error.message}. Trying again.`); $("store-failure").hidden = false; $("store").classList.add("stale"); if (error.status === 404) put("", el("p", { class: "crumb" }, el("a", { href: "#/" + route.view.replace(/^job$/, "jobs"), id: "back" }, "← All jobs"))); }
    clearTimeout(polling);
    polling = setTimeout(poll, POLL);
  };
  document.addEventListener("visibilitychange", poll);
  const section = (title) => ({ title, show: () => { painted = ""; jobsAfter = []; $("store").replaceChildren(); $("store-failure").hidden = true; $("store-section").hidden = false; poll(); } });
  Object.assign(views, { jobs: section("Jobs"), queues: section("Queues"), nodes: section("Nodes"), job: section() });

  // Another rule for a task, looked at before it is given.
  let ruled = "", looked = 0, looking = 0;
  const kinds = { cron: ["cron", "Cron expression", "0 0 9 * * MON-FRI"], rate: ["fixedRate", "Period", "5m"], delay: ["fixedDelay", "Delay after each run", "5m"] };
  const rule = () => { const [name] = kinds[$("rule-kind").value], text = { [name]: $("rule-text").value.trim() }; if (name === "cron" && $("rule-zone").value.trim()) text.zone = $("rule-zone").value.trim(); return text; };
  const reschedule = (row) => {
    ruled = row.name;
    set($("rule-title"), "Reschedule " + row.name);
    $("rule-kind").value = row.kind === "fixed_rate" ? "rate" : row.kind === "fixed_delay" ? "delay" : "cron";
    $("rule-text").value = row.expression || (row.periodMs ? (row.periodMs % 1000 ? row.periodMs + "ms" : row.periodMs / 1000 + "s") : "");
    $("rule-zone").value = row.zone;
    $("rule-reset").hidden = !(row.schedule && row.schedule.isOverridden);
    set($("rule-lasts"), row.isDurable ? "It holds in all processes, and after a restart, until the rule in the code changes." : "It holds until the program ends.");
    kindOfRule();
    $("rule").showModal();
    $("rule-text").focus();
  };
  const kindOfRule = () => { const [, label, example] = kinds[$("rule-kind").value]; set($("rule-label"), label); $("rule-text").placeholder = example; $("rule-zone-line").hidden = $("rule-kind").value !== "cron"; look(); };
  const look = () => {
    clearTimeout(looked); $("rule-ok").disabled = true;
    const own = looking += 1;
    looked = setTimeout(async () => {
      const show = (className, ...children) => { if (own !== looking) return false; $("rule-preview").className = className; $("rule-preview").replaceChildren(...children); return true; };
      if (!$("rule-text").value.trim()) { show("dim", "The next runs are shown here."); return; }
      try {
        const found = await ask(path(ruled) + "/preview?" + new URLSearchParams(rule()));
        const times = found.times.map((it) => el("li", {}, it.clockChange ? el("span", { class: "change" }, `↷ clocks go ${it.clockChange.isForward ? "forward" : "back"}`) : null, time(it.at, short(it.local), it.at), el("span", { class: "dim" }, until(it.at))));
        if (show("", el("p", {}, el("strong", {}, found.words || found.rule), found.expression ? ` (${found.zone})` : ""), el("ol", { class: "upcoming" }, ...times))) $("rule-ok").disabled = false;
      } catch (error) { show("is-bad pre", "✖ " + error.message.replace(/^task `[^`]*`: /, "")); }
    }, 250);
  };
  for (const id of ["rule-text", "rule-zone"]) $(id).addEventListener("input", look);
  $("rule-kind").addEventListener("input", kindOfRule);
  $("rule-cancel").addEventListener("click", () => $("rule").close());
  $("rule-reset").addEventListener("click", () => { $("rule").close(); act(ruled, "reschedule", { reset: true }); });
  $("rule-form").addEventListener("submit", (event) => { if ($("rule-ok").disabled) event.preventDefault(); else act(ruled, "reschedule", rule()); });
