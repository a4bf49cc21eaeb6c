  // The jobs, queues and nodes of a store. The page asks again every two seconds while it shows them.
  const POLL = 2000;
  const states = ["parked", "running", "ready", "done", "cancelled"];
  const fields = ["task", "queue", "partition", "key", "error"];
  let polling = 0, jobsState = "", painted = "", shownJobs = [];
  const picked = new Set();
  const jobIcon = (job) => ({
    parked: ["✖", "parked", "is-bad"],
    running: ["▶", (job.isCancelRequested ? "asked to stop" : "running") + (job.node ? " at " + job.node : ""), "is-run"],
    ready: job.attempt ? ["↻", "waits to run again", "is-warn"] : ["●", "ready", ""],
    done: ["✔", "done", "is-good"],
    cancelled: ["■", "cancelled", ""],
  }[job.state]);
  const when = ({ state, startedAt, finishedAt, runAt }) =>
    finishedAt ? ["ended " + stored(finishedAt), finishedAt]
      : state === "running" ? ["since " + ageOf(startedAt, storeNow()), startedAt]
        : [parse(runAt) > storeNow() ? "due " + until(runAt, storeNow()) : "due since " + ageOf(runAt, storeNow()), runAt];
  // Why a job does not run that is due; the time when one is due stands elsewhere.
  const waitText = ({ waits }) => waits && waits.reason !== "later" && waits.text.replace(/(at )?(\d{4}-\S+Z)/, (_, isNext, at) => isNext ? until(at, storeNow()) : localOf(at));
  const progressOf = ({ progress: it }) => it && [el("progress", { value: it.fraction, max: 1, "aria-label": "Progress" }), ` ${round(100 * it.fraction)} % `, el("bdi", it.text)];
  const jobLink = (job) => el("a", { href: "#/jobs/" + job.id, id: "job-" + job.id, "aria-label": `Job ${job.id} of ${job.task}` }, named(job.task));
  const shortId = (id) => "…" + id.slice(-12);
  // Nothing changes under a selected text.
  const put = (key, ...kids) => {
    const chosen = getSelection();
    if (!chosen.isCollapsed && $("store").contains(chosen.anchorNode)) return;
    painted = key || (route.view === "jobs" ? null : "");
    refill($("store"), kids);
  };
  const jobButton = (job, action, text) => button(text, () => action === "delete" ? sure(job) : jobAct(job, action), { id: action + "-" + job.id, "aria-label": `${text.replace("…", "")} job ${job.id} of ${job.task}` });
  const jobButtons = (job) => {
    if (!mayAct()) return [];
    if (job.state === "running") return [!job.isCancelRequested && jobButton(job, "cancel", "Ask to stop")];
    return job.state === "ready" ? [jobButton(job, "retry", "Run now"), " ", jobButton(job, "cancel", "Cancel")]
      : [jobButton(job, "retry", "Retry"), " ", jobButton(job, "delete", "Delete…")];
  };
  const jobAct = async (job, action) => {
    try {
      const row = await ask(`jobs/${job.id}/${action}`, {});
      toast(`${job.task} ${shortId(job.id)}: ` + { retry: "is due now", cancel: row.state === "running" ? "asked to stop" : "cancelled", delete: "deleted" }[action]);
      if (action === "delete" && route.view === "job") location.hash = "#/jobs?state=" + job.state; else poll();
    } catch (error) { refused(error); }
  };
  const confirm = (title, text, keep, ok, call) => { set($("sure-title"), title); set($("sure-text"), text); set($("sure-cancel"), keep); set($("sure-ok"), ok); $("sure").call = call; $("sure").showModal(); $("sure-cancel").focus(); };
  const sure = (job) => confirm("Delete this job?", `Job ${job.id} of ${job.task} will be deleted, with its error and its payload.`, "Keep it", "Delete", () => jobAct(job, "delete"));
  for (const it of every("dialog [id$=-cancel]")) it.addEventListener("click", () => it.closest("dialog").close());
  on("sure-form", "submit", () => $("sure").call());

  // Many jobs: those with these identities, or all that match. They are counted first.
  const acts = { retry: ["Retry", "retried"], cancel: ["Cancel", "cancelled"], delete: ["Delete", "deleted"] };
  const plural = (count) => count + (count === 1 ? " job" : " jobs");
  const inWords = (matching) => entries(matching).map(([name, value]) => name === "state" ? value : `${name} “${value}”`).join(", ");
  const askMany = async (action, chosen) => {
    const [verb, done] = acts[action];
    try {
      const { count, after } = await ask("jobs:" + action, { ...chosen, dryRun: true });
      const number = (after ? "at least " : "") + plural(count);
      if (!count) { toast(`No such job can be ${done}.`); return; }
      const where = chosen.ids ? "those that are selected" : "all that match: " + inWords(chosen.matching);
      confirm(`${verb} ${number}?`, `${number[0].toUpperCase() + number.slice(1)} will be ${done}; ${where}.` + (action === "delete" ? " Their errors and payloads go with them." : ""), "Leave them", `${verb} ${after ? "all" : plural(count)}`, () => doMany(action, chosen));
    } catch (error) { refused(error); }
  };
  const doMany = async (action, chosen) => {
    let sum = 0;
    try {
      for (let body = chosen; ;) {
        const { count, after, action: id } = await ask("jobs:" + action, body);
        sum += count;
        if (!after) break;
        body = { matching: { ...chosen.matching, after }, action: id };
        toast(`${plural(sum)} ${acts[action][1]}, going on …`);
      }
      toast(`${plural(sum)} ${acts[action][1]}`);
      picked.clear();
    } catch (error) { if (error.status !== 401) toast(`${plural(sum)} ${acts[action][1]}, then: ` + reached(error)); }
    poll(); watch();
  };
  const actsOf = (state) => ({ running: ["cancel"], ready: ["retry", "cancel", "delete"] }[state] || ["retry", "delete"]);
  const manyButtons = (prefix, state, text, chosen) => mayAct() && actsOf(state).map((action) => {
    const verb = state === "ready" && action === "retry" ? "Run now" : state === "running" ? "Ask to stop" : acts[action][0];
    return [" ", button(verb + text + "…", () => askMany(action, chosen()), { id: prefix + action })];
  });
  // Only what is selected is counted again when a box changes.
  const pickedBar = () => {
    const bar = $("picked-bar");
    if (!bar) return;
    bar.hidden = !picked.size;
    fill(bar, el("span.dim", picked.size + " selected"), manyButtons("picked-", jobsState, " selected", () => ({ ids: [...picked] })));
    const all = $("pick-all");
    if (all) { all.checked = picked.size > 0 && shownJobs.every((job) => picked.has(job.id)); all.indeterminate = picked.size > 0 && !all.checked; }
  };
  const matching = () => Object.fromEntries([["state", jobsState], ...fields.map((name) => [name, param(name)])].filter(([, value]) => value));
  for (const name of fields) on("job-" + name, "input", () => { picked.clear(); setParams({ [name]: $("job-" + name).value.trim(), after: "", state: jobsState }); clearTimeout(polling); polling = setTimeout(poll, 250); });
  on("job-filter", "submit", (event) => { halt(event); poll(); });
  const move = (changes) => { picked.clear(); setParams(changes, true); };
  on("job-clear", "click", () => move({ task: "", queue: "", partition: "", key: "", error: "", after: "" }));

  const storeTitle = (text) => el("h1", { id: "store-title", tabindex: "-1" }, text), headOf = (text) => el("div.head", storeTitle(text));
  const showJobs = async () => {
    const sums = { ready: 0, running: 0, parked: 0 }, asking = location.hash;
    const queues = await askQueues();
    for (const queue of queues) { sums.ready += queue.due + queue.later; sums.running += queue.running; sums.parked += queue.parked; }
    jobsState = states.includes(param("state")) ? param("state") : jobsState || (sums.parked ? "parked" : sums.running ? "running" : sums.ready ? "ready" : "done");
    const query = matching(), after = param("after");
    const page = await ask("jobs?" + new Params({ ...query, limit: 50, ...(after ? { after } : {}) }));
    const wantsErrors = !query.error && !after && jobsState !== "running" && (jobsState === "ready" ? retryingIn(queues) : page.jobs.some((job) => job.error));
    const { errors, isPartial } = wantsErrors ? await ask("jobs:errors?" + new Params(query)) : { errors: [], isPartial: false };
    if (route.view !== "jobs" || asking !== location.hash) return;
    shownJobs = page.jobs;
    for (const id of picked) if (!shownJobs.some((job) => job.id === id)) picked.delete(id);
    const names = (list) => list.map((value) => el("option", { value }));
    const tasksOf = (queue) => queue.tasks.map((task) => task.task), seen = queues.map((it) => it.queue + tasksOf(it)).join();
    if ($("job-tasks").dataset.seen !== seen) { $("job-tasks").dataset.seen = seen; fill($("job-tasks"), names([...new Set(queues.flatMap(tasksOf))])); fill($("job-queues"), names(queues.map((it) => it.queue))); }
    const isNarrow = fields.some((name) => query[name]);
    $("job-clear").hidden = !isNarrow;
    const tabs = el("div.tabs", { role: "group", "aria-label": "State" }, states.map((state) => button(state + (state in sums ? " " + sums[state] : ""), () => move({ state, after: "" }), { id: "state-" + state, "aria-pressed": String(state === jobsState) })));
    const groups = (errors.length > 1 || errors[0]?.count > 1) && el("section.card.groups", { "aria-labelledby": "h-groups" },
      el("h2", { id: "h-groups" }, "By error" + (isPartial ? ", as far as they were looked through" : "")), el("ul", errors.slice(0, 12).map((it, index) => el("li",
      el("a", { href: groupLink(jobsState, it), id: "group-" + index }, el("b", it.count + " × "), el("bdi", it.error)), el("span.dim.small", ` ${it.task}` + (it.lastAt ? `, the last ${stored(it.lastAt)}` : "")),
      el("span.act", manyButtons(`group-${index}-`, jobsState, " " + it.count, () => ({ matching: { ...query, task: it.task, error: it.error } })))))));
    const many = page.jobs.length > 0 && el("div.many.act", el("span.bulk", { id: "picked-bar" }), el("span.bulk", el("span.dim", isNarrow ? "All that match:" : `All that are ${jobsState}:`), manyButtons("all-", jobsState, " all", () => ({ matching: matching() }))));
    const pick = (job, is) => is ? picked.add(job.id) : picked.delete(job.id);
    const rows = page.jobs.map((job) => {
      const [text, at] = when(job);
      return el("tr", { class: job.state === "parked" && "failing" },
        cell(null, "act pick", el("input", { type: "checkbox", id: "pick-" + job.id, checked: picked.has(job.id), "aria-label": `Select job ${job.id} of ${job.task}`, on: { change: ({ target }) => { pick(job, target.checked); pickedBar(); } } })),
        cell(null, "task", jobLink(job), withIcon("status sub", jobIcon(job))),
        cell("Job", "mono", shortId(job.id), job.key && sub("key " + job.key), job.partition && sub("partition " + job.partition), job.schedule && job.schedule !== job.task && sub("of " + job.schedule)),
        cell("Queue", null, job.queue, job.priority !== "normal" && sub(job.priority)),
        cell("When", "when", time(at, text, localOf(at), "age"), waitText(job) && sub(waitText(job)), job.state === "running" && job.progress && sub(progressOf(job))),
        cell("Attempts", null, `${job.attempt} of ${job.maxAttempts}`, job.lost && sub(`lost ${job.lost}×`)),
        cell("Error", "last", el("span.sub.error", job.error && el("bdi", job.error))),
        cell(null, "act acts", jobButtons(job)));
    });
    const pickShown = ({ target }) => { for (const job of shownJobs) { pick(job, target.checked); $("pick-" + job.id).checked = target.checked; } pickedBar(); };
    const pages = el("p.more",
      after && button("First page", () => move({ after: "" }), { id: "jobs-first" }), " ",
      page.hasMore && button("Next page", () => { move({ state: jobsState, after: page.after }); scrollTo(0, 0); }, { id: "jobs-next" }));
    const heads = [pickAll("Select all on this page", "pick-all", pickShown), "Task", "Job", "Queue", "When", "Attempts", "Error", actsHead()];
    const table = rows.length ? tableOf("jobs", `Jobs that are ${jobsState}, the newest first`, heads, rows) : note("", page.hasMore ? `None of the first ${page.lookedThrough} jobs that are ${jobsState} matches; the next page goes on.` : `No job is ${jobsState}${isNarrow ? " that matches" : ""}.`);
    put("", headOf("Jobs"), tabs, groups, many, table, pages);
    pickedBar();
  };

  const showJob = async () => {
    const id = route.name, job = await ask("jobs/" + encode(id));
    if (route.view !== "job" || route.name !== id) return;
    const key = JSON.stringify(job), at = (name) => job[name] && time(job[name], `${localOf(job[name])}, ${parse(job[name]) > storeNow() ? until(job[name], storeNow()) : ago(job[name], storeNow())}`, job[name]);
    if (painted === key) return;
    const { payload } = job;
    put(key, crumb(toJobs({ state: job.state, task: job.task }), `← ${job.state} jobs of ${job.task}`),
      el("div.title", storeTitle(named(job.task)), withIcon("status", jobIcon(job)), el("div.buttons.act", jobButtons(job))),
      waitText(job) && note("", "It waits: ", waitText(job) + "."),
      job.error && el("section", { class: "note " + (job.state === "parked" ? "bad" : "warn"), "aria-label": "Error" }, el("pre", job.error),
        job.state === "parked" && el("p", el("a", { href: groupLink("parked", { task: job.task, error: job.error.split("\n")[0].slice(0, 100) }) }, "All jobs that are parked by this error"))),
      el("div.grid",
        card("h-job", "Job", factsOf(
          ["Identity", el("code", job.id)], ["Task", tasks.has(job.task) ? linkTo(job.task) : job.task], ["Queue", job.queue + (job.priority === "normal" ? "" : ", " + job.priority)], ["Partition", job.partition], ["Key", job.key],
          ["Schedule", job.schedule && job.schedule + (job.tick ? "" : ", by hand")], ["Tick", at("tick")], ["Missed before", job.missed])),
        card("h-times", "Times", factsOf(["Accepted", at("createdAt")], ["Due", at("runAt")], ["Expires", at("expiresAt")], ["Started", at("startedAt")], ["Ended", at("finishedAt")], ["Progress", progressOf(job)])),
        card("h-attempts", "Attempts", factsOf(
          ["Attempts", `${job.attempt} of ${job.maxAttempts}`], ["Lost", job.lost && `${job.lost}×: its process died`],
          ["Unreadable", job.undecoded && `${job.undecoded}×: its payload could not be decoded`], ["When lost", job.onLost === "rerun" ? "it runs again" : "it is parked"],
          ["Fence", job.fence], ["Process", job.session && el("a", { href: "#/nodes" }, job.node || "one that is gone")], ["Session", job.session && el("code", job.session)]))),
      job.attempts.length > 0 && [el("h2.over", "Attempts that did not succeed"), attemptsOf(job)],
      payload && card("h-payload", "Payload", mayEdit(job) && el("p.act.crumb", button("Edit…", () => edit(job), { id: "do-edit" })),
        payload.isHidden ? el("p.dim", `${payload.bytes} bytes, hidden from you.`) : el("pre", { id: "payload", tabindex: "0", "aria-labelledby": "h-payload" }, payload.text + (payload.isCut ? "\n…" : ""))));
  };

  const attemptsOf = (job) => tableOf("attempts", "Attempts that did not succeed, the earliest first", ["Attempt", "Ended", "Took", "Outcome", "Node", "Error"], job.attempts.map((it) => el("tr",
    cell("Attempt", "whole", "#" + it.number), cell("Ended", "whole", time(it.endedAt, `${localOf(it.endedAt)}, ${stored(it.endedAt)}`, it.endedAt)), cell("Took", "whole", took(it.tookMs)),
    cell("Outcome", "whole", withIcon("outcome", ["✖", it.outcome.replace("_", " "), "is-bad"])), cell("Node", null, it.node || "–"), cell("Error", "detail wide", el("pre.is-bad", it.error)))));
  // Another payload for a job that waits or is parked, unless it was claimed since it was shown.
  let edited = null;
  const mayEdit = (job) => mayAct() && ["ready", "parked"].includes(job.state) && job.payload.text !== undefined && !job.payload.isCut;
  const edit = (job) => {
    edited = job;
    set($("edit-fault"), "");
    $("edit-text").value = job.payload.text;
    set($("edit-lasts"), job.state === "parked" ? "The job stays parked until it is retried." : "The job runs with it when it is due.");
    $("edit").showModal();
    $("edit-text").focus();
  };
  const faultOf = (text) => { try { JSON.parse(text); return ""; } catch (error) { return "✖ This is no JSON: " + error.message; } };
  on("edit-text", "input", () => { if ($("edit-fault").textContent) set($("edit-fault"), faultOf($("edit-text").value)); });
  on("edit-form", "submit", async (event) => {
    halt(event);
    const payload = $("edit-text").value, fault = faultOf(payload);
    set($("edit-fault"), fault);
    if (fault) { $("edit-text").focus(); return; }
    $("edit-ok").disabled = true;
    try { await ask(`jobs/${edited.id}/edit`, { payload, fence: edited.fence }); $("edit").close(); toast(`${edited.task} ${shortId(edited.id)}: has another payload`); poll(); }
    catch (error) { if (error.status === 401) $("edit").close(); else set($("edit-fault"), "✖ " + reached(error)); }
    $("edit-ok").disabled = false;
  });

  const queueAct = async (queue, action, body) => { try { await ask(`queues/${encode(queue)}/${action}`, body || {}); toast(`queue ${queue}: ${action}d`); poll(); watch(); } catch (error) { refused(error); } };
  const queueButton = ({ queue, pause: is }) => { const label = is ? "Resume" : "Pause…"; return mayAct() && button(label, () => is ? queueAct(queue, "resume") : pause([], queue), { id: "toggle-" + queue, "aria-label": `${label}: queue ${queue}` }); };
  const showQueues = async () => {
    const queues = await askQueues();
    if (route.view !== "queues") return;
    const row = (it, queue, task) => {
      const link = (state, ...text) => el("a", { href: toJobs({ state, queue, ...(task && { task }) }) }, text);
      const number = (label, count, state, text = count) => cell(label, "number", count ? link(state, text) : "0");
      return el("tr", { class: task && "part" },
        cell(null, "task", link(it.parked ? "parked" : it.running && !it.due && !it.later ? "running" : "ready", task || queue), it.pause && sub("‖ " + pausedText(it) + (it.pause.until ? ", until " + brief(localOf(it.pause.until)) : ""))),
        number("Due", it.due, "ready"), cell("Later", "number", String(it.later)), number("Retrying", it.retrying, "ready"), number("Running", it.running, "running"), number("Parked", it.parked, "parked", el("span.is-bad", "✖ " + it.parked)),
        cell("Longest wait", it.oldestMs > 60000 ? "number is-bad" : "number", it.oldestMs === undefined ? "–" : span(it.oldestMs)),
        cell("Longest run", [it, ...it.tasks || []].some((part) => part.hasLongRun) ? "number is-bad" : "number", it.oldestRunningMs === undefined ? "–" : span(it.oldestRunningMs)), cell(null, "act acts", !task && queueButton(it)));
    };
    const rows = queues.map((it) => [row(it, it.queue), it.tasks.map((part) => row(part, it.queue, part.task))]);
    put("", headOf("Queues"), rows.length ? tableOf("queues", "Queues, each with the tasks of its jobs", ["Queue", "Due", "Later", "Retrying", "Running", "Parked", "Longest wait", "Longest run", actsHead()], rows) : note("", "No queue is known."), el("p.dim", "as of " + stored(facts.asOf)));
  };

  const nodeAct = async (node, action, body) => { try { await ask(`nodes/${node.session}/${action}`, body || {}); toast(`node ${node.label}: ${action}d`); poll(); watch(); } catch (error) { refused(error); } };
  const nodeButton = (node) => { const label = node.pause ? "Resume" : "Pause…"; return mayAct() && button(label, () => node.pause ? nodeAct(node, "resume") : pause([], "", node), { id: "toggle-" + node.session, "aria-label": `${label}: node ${node.label}` }); };
  const showNodes = async () => {
    const { nodes, orphans, ended } = await ask("nodes");
    Object.assign(facts, { nodes, orphans, ended });
    if (route.view !== "nodes") return;
    const held = (jobs) => jobs.length ? el("ul", jobs.slice(0, 20).map((job) => el("li", jobLink(job), el("span.dim", " since " + ageOf(job.startedAt, storeNow())))), jobs.length > 20 && el("li.dim", `and ${jobs.length - 20} more`)) : "none";
    const stateOf = (node) => node.hasRunOut ? ["✖", "does not renew its lease", "is-bad"] : !node.pause ? ["✔", "takes jobs", "is-good"] : node.jobs.length ? ["‖", "paused, its runs go on", "is-warn"] : ["‖", "paused", "is-warn"];
    const open = new Set([...$("store").querySelectorAll("details[open]")].map((it) => it.id));
    const tasksOf = (node) => el("details", { id: "tasks-" + node.session, open: open.has("tasks-" + node.session), "aria-label": "Tasks of " + node.label }, el("summary", node.tasks.length + (node.tasks.length === 1 ? " task" : " tasks")), node.tasks.join(", "));
    const rows = nodes.map((node) => el("tr", { class: node.hasRunOut && "failing" },
      cell(null, "task", el("strong", node.label), el("span.sub.mono", shortId(node.session)), node.pause && sub("‖ " + pausedText(node) + (node.pause.until ? ", until " + brief(localOf(node.pause.until)) : "")), node.isClockOff && el("span.sub.is-bad", "its clock " + offText(node.clockOffsetMs))),
      cell("Build", null, node.build || "–"), cell("Since", "when", time(node.openedAt, ageOf(node.openedAt, storeNow()), localOf(node.openedAt), "age")),
      cell("Queues", null, node.queues ? node.queues.join(", ") || "none" : "all", tasksOf(node)), cell("State", null, withIcon("outcome", stateOf(node))),
      cell("Jobs", null, `${node.jobs.length} of ${node.concurrency}`, node.jobs.length > 0 && held(node.jobs)), cell(null, "act acts", nodeButton(node))));
    const endOf = (it) => el("li", { class: it.isLost && "is-bad" }, el("strong", it.label), el("span.mono.dim", " " + shortId(it.session)), it.isLost ? ": lost " : ": stopped ", time(it.at, stored(it.at), localOf(it.at)),
      it.isLost && `, found by ${it.foundBy === it.label ? "itself" : it.foundBy}; it held ${plural(it.jobs)}`, it.isLost && it.isBack && "; it is back");
    put("", headOf("Nodes"), rows.length ? tableOf("nodes", "Processes that use the store, and the jobs that they have", ["Process", "Build", "Since", "Queues", "State", "Jobs", actsHead()], rows) : note("", "No process uses the store."),
      ended.length > 0 && el("section.note", { id: "ended", class: ended.some((it) => it.isLost) && "bad" }, el("h2", "Lost or stopped within the last hour"), el("ul", ended.map(endOf))),
      orphans.length > 0 && el("section.note.warn", el("h2", "Jobs of processes that are gone"), el("p", "Another process takes them over soon."), held(orphans)));
  };

  // What people changed, in all processes and in SQL.
  const noteOf = (it) => [it.matching && `${it.count}: ${it.matching}`, (it.before || it.after) && `${it.before || "–"} → ${it.after || "–"}`, it.note].filter(Boolean).join("; ");
  const actionsOf = (list) => tableOf("actions", "Changes by hand, the latest first", ["Task", "Action", "Who", "When", "Note", "From"], list.map((it) => el("tr",
    cell(null, "task", it.job ? jobLink({ id: it.job, task: it.task }) : it.queue ? "queue " + it.queue : it.process ? "node " + it.process : it.partition ? `${it.partition} of ${it.task}`
      : it.task === "*" ? it.matching ? "several" : "–" : el("a", { href: toTask(it.task) }, named(it.task))), cell("Action", null, it.action.replace("_", " ")), cell("Who", null, it.who, it.role && el("span.sub", "role " + it.role)),
    cell("When", "when", time(it.at, stored(it.at), it.at, "age")), cell("Note", null, el("bdi", noteOf(it) || "–")), cell("From", "dim", it.from || "–", it.node && el("span.sub", it.node)))));
  const showActions = async () => {
    const after = param("after"), { actions, hasMore, isPartial } = await ask("actions?limit=100" + (after ? "&after=" + after : ""));
    if (route.view === "actions") put("", headOf("Actions"), isPartial && note("warn", "The store does not answer: these are the changes at this process, since its start."), actions.length ? actionsOf(actions) : note("", "No change by hand."),
      hasMore && el("p.more", el("a", { href: "#/actions?after=" + actions.at(-1).id }, "Older")));
  };

  const shows = { jobs: showJobs, job: showJob, queues: showQueues, nodes: showNodes, actions: showActions };
  const poll = async () => {
    clearTimeout(polling);
    const show = shows[route.view];
    if (!show || hid()) return;
    try { await show(); $("store-failure").hidden = true; $("store").classList.remove("stale"); }
    catch (error) {
      if (error.status === 401) return;
      const isGone = error.status === 404;
      set($("store-failure"), isGone ? error.message : reached(error).replace(/\.?$/, ". Trying again."));
      $("store-failure").hidden = false;
      $("store").classList.add("stale");
      if (isGone) put("", crumb("#/jobs", "← All jobs"));
    }
    clearTimeout(polling);
    polling = setTimeout(poll, route.view === "timeline" ? 10000 : POLL);
  };
  const section = (title) => ({ title, show: () => {
    const isSame = painted === null && route.view === "jobs";
    painted = route.view === "jobs" ? null : "";
    if (!isSame) { fill($("store")); $("store-failure").hidden = true; }
    $("store-section").hidden = false;
    $("job-filter").hidden = route.view !== "jobs";
    if (route.view === "jobs") { if (!param("state")) jobsState = ""; for (const name of fields) $("job-" + name).value = param(name) || ""; }
    poll();
  } });
  Object.assign(views, { jobs: section("Jobs"), queues: section("Queues"), nodes: section("Nodes"), actions: section("Actions"), timeline: section("Timeline"), job: section() });

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
    $("rule-reset").hidden = !(row.schedule?.isOverridden);
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
      const show = (className, ...kids) => { if (own !== looking) return false; $("rule-preview").className = className; fill($("rule-preview"), kids); return true; };
      if (!$("rule-text").value.trim()) { show("dim", "The next runs are shown here."); return; }
      try {
        const found = await ask(path(ruled) + "/preview?" + new Params(rule()));
        if (show("", el("p", el("strong", found.words || found.rule), found.expression && ` (${found.zone})`), el("ol.upcoming", timesOf(found.times, found.zone, until)))) $("rule-ok").disabled = false;
      } catch (error) { show("is-bad pre", "✖ " + error.message.replace(/^task `[^`]*`: /, "")); }
    }, 250);
  };
  for (const id of ["rule-text", "rule-zone"]) on(id, "input", look);
  on("rule-kind", "input", kindOfRule);
  on("rule-reset", "click", () => { $("rule").close(); act(ruled, "reschedule", { reset: true }); });
  on("rule-form", "submit", (event) => { if ($("rule-ok").disabled) halt(event); else act(ruled, "reschedule", rule()); });
