"use strict";
(() => {
  const $ = (id) => document.getElementById(id), every = (what) => document.querySelectorAll(what);
  const { parse, now: wall } = Date, { floor, max, min, round } = Math, { entries } = Object, Params = URLSearchParams, hid = () => document.hidden, halt = (event) => event.preventDefault(), allRows = () => [...tasks.values()], encode = encodeURIComponent, mayAct = () => info.visitor.mayAct;
  const on = (id, event, call) => $(id).addEventListener(event, call);
  const base = location.pathname.replace(/\/+$/, "") + "/";
  const api = base + "api/v1/";
  // A text that the browser keeps, if it may: in a private window it does not.
  const memory = (kind, key) => ({
    get: () => { try { return window[kind].getItem(key) || ""; } catch { return ""; } },
    set: (text) => { try { text ? window[kind].setItem(key, text) : window[kind].removeItem(key); } catch {} },
  });
  // The token is this tab's: it goes to no server but this one, and into no address.
  const key = "scheduler-token:" + base, ofTab = memory("sessionStorage", key);
  let token = ofTab.get();
  const keep = (text) => { token = text; ofTab.set(text); };
  const inFragment = () => {
    const found = /^#token=([^&]+)/.exec(location.hash);
    if (found) { keep(decodeURIComponent(found[1])); history.replaceState(null, "", location.pathname + location.search); }
    return Boolean(found);
  };
  inFragment();
  // A new tab asks those that are signed in. Only pages of this server hear it, and nothing is stored.
  const isByToken = document.body.dataset.auth === "token";
  const tabs = "BroadcastChannel" in window ? new BroadcastChannel(key) : null;
  let isAsking = null;
  const fromTabs = () => new Promise((done) => { if (tabs && isByToken) { isAsking = done; tabs.postMessage({ ask: true }); setTimeout(done, 400); } else done(); });
  if (tabs) tabs.onmessage = ({ data }) => {
    if (data.ask && token && info) tabs.postMessage({ token });
    else if (data.token && isAsking) isAsking(String(data.token));
    else if (data.token && !token && !$("sign-in").hidden) { keep(String(data.token)); begin(); }
  };

  const SVG = "http://www.w3.org/2000/svg";
  const tasks = new Map(), rows = new Map(), selected = new Set();
  let info = null, shift = 0, sort = { by: "", up: true }, limit = 100, route = { view: "", params: new Params() }, isFresh = false, knownAt = 0, isPolling = false;

  // Characters that cannot be seen, or would reverse what follows, are shown by their numbers.
  const visible = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (it) => `[U+${it.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

  // Tables have their roles in words, because on small screens the style takes them away.
  const usual = { table: { role: "table" }, thead: { role: "rowgroup" }, tbody: { role: "rowgroup" }, tr: { role: "row" }, th: { scope: "col", role: "columnheader" }, td: { role: "cell" }, button: { type: "button" }, i: { "aria-hidden": "true" } };
  // What an element may have in it: text is only ever text, and what is false or empty is left out.
  const content = (kids) => kids.flat(Infinity).filter(Boolean).map((it) => it instanceof Node ? it : visible(String(it)));
  const fill = (node, ...kids) => node.replaceChildren(...content(kids));
  const assign = (node, props) => {
    for (const [key, value] of entries(props)) {
      if (key === "on") for (const event in value) node.addEventListener(event, value[event]);
      else if (value || value === "") node.setAttribute(key, value === true ? "" : value);
    }
    return node;
  };
  // `el("span.sub.error", { id: "x" }, …)`: a tag with its classes, then properties if there are any, then what is in it.
  const el = (what, ...kids) => {
    const [tag, ...classes] = what.split("."), props = kids[0]?.constructor === Object ? kids.shift() : {};
    const node = assign(document.createElement(tag), { class: classes.join(" ") || null, ...usual[tag], ...props });
    node.append(...content(kids));
    return node;
  };
  const svg = (name, props) => assign(document.createElementNS(SVG, name), props);
  // A picture of paths: [class, path], with a text for those who do not see it.
  const picture = (name, box, label, paths) => {
    const image = svg("svg", { class: name, viewBox: "0 0 " + box, preserveAspectRatio: "none", role: "img", "aria-label": label }), title = svg("title", {});
    title.textContent = label;
    image.append(...paths.filter(([, d]) => d).map(([kind, d]) => svg("path", { class: kind, d })), title);
    return image;
  };
  const sub = (text) => el("span.sub", text);
  const button = (text, click, props) => el("button", { on: { click }, ...props }, text);
  const linkTo = (name) => el("a", { href: toTask(name) }, name);
  const note = (kind, ...kids) => el("p", { class: "note " + kind }, kids);
  const card = (id, title, ...kids) => el("section.card", { "aria-labelledby": id }, el("h2", { id }, title), kids);
  // Facts: [term, values …]; one without a value is left out.
  const factsOf = (...facts) => el("dl.facts", facts.filter(([, ...values]) => values.some(Boolean)).map(([term, ...values]) => [el("dt", term), el("dd", values)]));
  const withIcon = (className, [icon, word, kind]) => el("span", { class: className + " " + kind }, el("i", icon), " " + word);
  const crumb = (href, text) => el("p.crumb", el("a", { href, id: "back" }, text));
  const cell = (label, className, ...kids) => el("td", { "data-label": label, class: className }, kids);
  const tableOf = (id, caption, heads, rows) => el("table", { id }, el("caption.hidden", caption),
    el("thead", el("tr", heads.map((head) => typeof head === "string" ? el("th", head) : head))), el("tbody", rows));
  const actsHead = () => el("th.act", el("span.hidden", "Actions"));
  const toTask = (name) => "#/tasks/" + encode(name);
  const param = (name) => route.params.get(name);
  const toJobs = (params) => "#/jobs?" + new Params(params);
  // Puts new elements in, and leaves the focus where it was.
  const refill = (node, ...kids) => {
    const focused = document.activeElement?.id;
    fill(node, kids);
    if (focused && document.activeElement?.id !== focused) $(focused)?.focus({ preventScroll: true });
  };
  const set = (node, text) => { text = visible(text); if (node.textContent !== text) node.textContent = text; };
  const announce = (text) => set($("announce"), text);
  let toastTimer = 0;
  const toast = (text) => { set($("toast"), text); $("toast").hidden = false; clearTimeout(toastTimer); toastTimer = setTimeout(() => { $("toast").hidden = true; }, 6000); };

  // Times are shown in the zone of the task, of the browser, or in UTC.
  const ofBrowser = memory("localStorage", "scheduler-zone");
  let zone = ofBrowser.get() || "task";
  const iso = (ms) => new Date(ms).toISOString();
  const zoneOfBrowser = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const digits = "2-digit", dateParts = { weekday: "short", year: "numeric", month: digits, day: digits, hour: digits, minute: digits, second: digits, hourCycle: "h23", timeZoneName: "longOffset" };
  // UTC needs no format. It stands for zones that the browser does not know, and for all if it does not know `longOffset`.
  const utc = { name: "UTC" }, zones = new Map([["UTC", utc]]);
  const formatOf = (name) => {
    if (!zones.has(name)) try { zones.set(name, { name, format: new Intl.DateTimeFormat("en-US", { ...dateParts, timeZone: name }) }); } catch { zones.set(name, utc); }
    return zones.get(name);
  };
  const zoneOf = (name) => formatOf(zone === "utc" ? "UTC" : zone === "browser" ? zoneOfBrowser : name || info.zone);
  // "Mon 2026-03-30 09:00:00 +02:00", in the zone of a task, or else in that of the program.
  const localOf = (at, name) => {
    const ms = parse(at), { format } = zoneOf(name);
    // An instant that a browser cannot read, such as one of the year 12000, is shown as it came.
    if (Number.isNaN(ms)) return at || "";
    if (!format) return `${new Date(ms).toUTCString().slice(0, 3)} ${iso(ms).slice(0, 10)} ${iso(ms).slice(11, 19)} +00:00`;
    const { weekday, year, month, day, hour, minute, second, timeZoneName } = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    return `${weekday} ${year}-${month}-${day} ${hour}:${minute}:${second} ${timeZoneName.slice(3) || "+00:00"}`;
  };

  // Times: ages are computed from the clock of the server; those of what the store has, from the store's.
  // Without its process a page judges no later time than the last that it knows.
  const now = () => lostAt && knownAt || wall() + shift;
  const storeNow = () => now() - (info?.clockOffsetMs || 0), clockOf = (row) => row.isDurable ? storeNow() : now();
  const span = (ms) => {
    const s = Math.abs(ms) / 1000;
    if (s < 1) return round(Math.abs(ms)) + " ms";
    if (s < 60) return floor(s) + " s";
    const [d, h, m] = [floor(s / 86400), floor(s / 3600) % 24, floor(s / 60) % 60];
    if (d) return d + " d " + h + " h";
    return h ? h + " h " + m + " min" : m + " min" + (m < 10 && floor(s) % 60 ? " " + floor(s) % 60 + " s" : "");
  };
  const took = (ms) => ms < 1 ? round(ms * 1000) + " µs" : ms < 1000 ? (ms < 10 ? ms.toFixed(1) : round(ms)) + " ms" : ms < 60000 ? (ms / 1000).toFixed(1) + " s" : span(ms);
  const ago = (at, to = now()) => { const ms = to - parse(at); return ms < 1000 ? "just now" : span(ms) + " ago"; };
  const stored = (at) => ago(at, storeNow());
  const ageOf = (at, to) => ago(at, to).replace(" ago", "");
  const since = (at) => span(now() - parse(at));
  const until = (at, from = now()) => { const ms = parse(at) - from; return ms <= 0 ? "now" : "in " + (ms < 1000 ? "1 s" : span(ms)); };
  // A local time without the seconds if they are zero; brief: also without the date if it is today's.
  const short = (local) => local ? local.replace(/:00 ([+-])/, " $1") : "";
  const shorter = (locals) => locals.every((local) => /:00 [+-]/.test(local)) ? short : (local) => local;
  const offsetOf = (local) => { const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)$/.exec(local) || ["", "+", 0, 0]; return Number(sign + 1) * (Number(hours) * 60 + Number(minutes)) * 60000; };
  const brief = (local) => {
    if (!local) return "";
    const today = iso(now() + offsetOf(local)).slice(0, 10);
    return local.includes(today) ? short(local).slice(15) : short(local);
  };
  // Times to come; all without seconds, or none.
  const timesOf = (times, zoneName, inWords) => {
    const locals = times.map(({ at }) => localOf(at, zoneName)), shown = shorter(locals);
    return times.map(({ at, clockChange: it }, index) => el("li", it && el("span.change", `↷ clocks go ${it.isForward ? "forward" : "back"}: ${it.offsetBefore} → ${it.offsetAfter}`), time(at, shown(locals[index]), at), el("span.dim", inWords(at))));
  };
  // A name may break after its punctuation.
  const named = (name) => {
    const cut = name.lastIndexOf("::") + 1, parts = (text) => text.split(/(?<=::|[_./-])/).flatMap((part, index) => [index && el("wbr"), part]);
    return cut ? [el("span.path", parts(name.slice(0, cut + 1))), el("wbr"), ...parts(name.slice(cut + 1))] : parts(name);
  };
  const time = (at, text, local, className) => el("time", { datetime: at, title: local, class: className }, text);

  // Requests.
  const headers = (more) => token ? { ...more, Authorization: "Bearer " + token } : { ...more };
  const ask = async (path, body) => {
    const options = body === undefined ? { headers: headers() } : { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) };
    const answer = await fetch(api + path, { ...options, cache: "no-store", credentials: "same-origin", redirect: "error" });
    answered = wall();
    const json = (answer.headers.get("content-type") || "").includes("json") ? JSON.parse(await answer.text()) : null;
    if (answer.ok) return json;
    const error = new Error((json?.detail) || answer.status + " " + answer.statusText);
    error.status = answer.status;
    if (answer.status === 401 && !token) { const found = await fromTabs(); if (found) { keep(found); return ask(path, body); } }
    if (answer.status === 401 || answer.status === 429) { const why = token ? error.message : "Open the link that the program has printed, or paste the token."; keep(""); signIn(isByToken ? why : error.message); }
    throw error;
  };
  const reached = (error) => error instanceof TypeError ? "The program does not answer; nothing was done." : error.message;
  const refused = (error) => { if (error.status !== 401) toast(reached(error)); };
  const path = (name) => "tasks/" + encode(name);
  const act = async (name, action, body) => {
    try { update(await ask(path(name) + "/" + action, body || {})); toast(name + ": " + { run: "asked to run", pause: "paused", resume: "resumed", cancel: "asked to stop", enable: "enabled", reschedule: "has another rule" }[action]); refresh(); }
    catch (error) { refused(error); }
  };

  // Signing in.
  const signIn = (why) => {
    stop();
    for (const id of ["list", "task", "store-section", "trouble"]) $(id).hidden = true;
    $("sign-in").hidden = false;
    $("sign-in-form").hidden = !isByToken;
    set($("sign-in-why"), why);
    link("off", "not connected");
    if (isByToken) $("token").focus();
  };
  on("sign-in-form", "submit", (event) => { halt(event); keep($("token").value.trim()); $("token").value = ""; begin().then(() => { if (tabs && token && info) tabs.postMessage({ token }); }); });

  // The state of a task, its sparkline, and the texts about it.
  const status = (row) => {
    const wrong = wrongOf(row), retrying = row.state === "retrying" ? ", retrying" : "";
    if (wrong?.kind === "hung") return ["▲", "hung, running" + retrying, "is-bad"];
    if (wrong?.kind === "late") return ["▲", `late by ${span(now() - wrong.since)}` + (heldBy(row) ? ", " + heldBy(row) : ""), "is-bad"];
    return row.isEnded && isDown(row) ? ["✖", row.state + ", failed", "is-bad"] : plainStatus(row);
  };
  const plainStatus = ({ state, streak, ...row }) => {
    if (state === "disabled") return ["–", "disabled", ""];
    if (row.isEnded) return ["■", state, state === "failed" ? "is-bad" : ""];
    if (row.running) return ["▶", state === "retrying" ? "retrying" : "running", "is-run"];
    if (row.isPaused) return ["‖", "paused", "is-warn"];
    return streak ? ["✖", streak > 1 ? `failing, ${streak} in a row` : "failing", "is-bad"] : ["●", "waiting", ""];
  };
  const outcome = (name) => name === "success" ? ["✔", "ok", "is-good"] : name === "cancelled" ? ["■", "cancelled", ""] : ["✖", name, "is-bad"];
  const spark = (recent, width) => {
    const names = recent.outcomes, all = max(names.length, 60), step = width / 60, longest = max(...recent.tookMs, 0.001);
    const bad = [...names].filter((it) => "ept".includes(it)).length;
    const label = names.length ? `last ${names.length} runs: ${names.length - bad} ok, ${bad} failed` + ("ept".includes(names.at(-1)) ? ", the latest failed" : "") : "no runs yet";
    const bars = { ok: "", bad: "", other: "" };
    [...names].forEach((it, index) => {
      const kind = it === "s" ? "ok" : it === "c" ? "other" : "bad";
      const height = kind === "bad" ? 25 : 3 + 17 * Math.sqrt(recent.tookMs[index] / longest);
      const x = (all - names.length + index) * step;
      bars[kind] += `M${x.toFixed(1)} ${(26 - height).toFixed(1)}h${(step * 0.66).toFixed(1)}V26h-${(step * 0.66).toFixed(1)}z`;
    });
    return picture("spark", width + " 26", label, [["base", `M0 25.5H${width}`], ...entries(bars)]);
  };
  const badges = (row) => [...row.tags, row.isDurable && "durable", row.schedule?.isOverridden && "overridden"].filter(Boolean);
  const badge = (tag) => el("span.badge", tag);
  const schedule = (row) => row.expression ? [row.words || row.expression, row.words ? row.expression + " · " + row.zone : row.zone] : [row.words || row.rule, ""];
  const pausedText = (row) => "paused" + (row.pause?.by ? " by " + row.pause.by : "") + (row.pause?.reason ? ": “" + row.pause.reason + "”" : "");
  const nextText = (row) => {
    if (row.isEnded || row.state === "disabled") return [row.state === "disabled" ? "disabled" : "never again", ""];
    if (row.isPaused) return [row.pause.until ? "paused until " + brief(localOf(row.pause.until, row.zone)) : "paused", row.wouldRunAt ? "would run " + brief(localOf(row.wouldRunAt, row.zone)) : ""];
    if (row.storeFailure) return ["unknown", "the store does not answer"];
    if (row.kind === "job") return ["when a job is due", ""];
    if (row.schedule?.hasEnded) return ["never again", ""];
    if (row.triggerFailure) return ["unknown", "its trigger failed: " + row.triggerFailure];
    if (row.running && !row.next) return ["after this run", ""];
    if (!row.next) return ["unknown", ""];
    const wrong = wrongOf(row);
    if (wrong?.kind === "late") return ["overdue", "for " + span(now() - wrong.since)];
    if (wrong?.kind === "hung") return ["when this run ends", wrong.due ? `was due ${span(now() - wrong.due)} ago` : ""];
    return [until(row.next, clockOf(row)), brief(localOf(row.next, row.zone))];
  };

  // A row of the list. Its elements stay, so that focus does.
  const makeRow = (name) => {
    const at = () => tasks.get(name);
    const view = { name, parts: {} };
    const part = (key, tag, className) => (view.parts[key] = el(tag, { class: className }));
    const check = el("input", { type: "checkbox", "aria-label": "Select " + name, on: { change: (event) => { event.target.checked ? selected.add(name) : selected.delete(name); bulk(); } } });
    view.run = button("Run now", () => act(name, "run"), { "aria-label": "Run now: " + name });
    view.toggle = button("Pause…", () => at().state === "disabled" ? act(name, "enable") : at().isPaused ? act(name, "resume") : pause([name]));
    view.link = el("a", { href: toTask(name), "aria-label": name }, named(name));
    view.tr = el("tr",
      cell(null, "act pick", check),
      cell(null, "task", view.link, part("status", "span", "status sub"), part("since", "span", "sub is-bad"), part("tags", "span", "tags")),
      cell("Schedule", "schedule", part("words", "span"), part("cron", "span", "sub mono")),
      cell("Next run", "next", part("next", "span", "age"), part("nextAt", "span", "sub")),
      cell("Last run", "last", part("last", "span", "outcome"), part("took", "span", "sub"), part("error", "span", "sub error")),
      view.spark = cell("Last 60 runs", "spark", part("spark", "span")),
      cell(null, "act acts", view.run, " ", view.toggle));
    view.check = check;
    return view;
  };
  const paintRow = (view, row) => {
    const { parts } = view;
    const tags = badges(row);
    if (view.tags !== tags.join()) { view.tags = tags.join(); fill(parts.tags, tags.map(badge)); }
    const [words, cron] = schedule(row);
    set(parts.words, words); set(parts.cron, cron);
    const seen = JSON.stringify(row.recent);
    if (view.seen !== seen) { view.seen = seen; view.spark.classList.toggle("empty", !row.recent.outcomes); fill(parts.spark, spark(row.recent, 182)); }
    set(parts.error, row.last?.message || "");
    view.check.checked = selected.has(view.name);
    view.run.hidden = row.isEnded || row.state === "disabled" || row.kind === "job";
    const label = row.state === "disabled" ? "Enable" : row.isPaused ? "Resume" : "Pause…";
    view.toggle.hidden = row.isEnded;
    set(view.toggle, label);
    view.toggle.setAttribute("aria-label", label + ": " + view.name);
    view.row = row;
    age(view);
  };
  const age = (view) => {
    const { parts, row } = view;
    const wrong = wrongOf(row), [sign, word, className] = status(row);
    let text = word + (row.running > 1 ? " ×" + row.running : "") + (row.running && row.runningSince ? " for " + since(row.runningSince) : "");
    if (row.isPaused) text = (word === "paused" ? "" : text + " · ") + pausedText(row);
    view.tr.className = (wrong ? "failing" : "") + (isDown(row) ? " down" : "");
    parts.status.className = "status sub " + className;
    if (parts.status.dataset.text !== sign + text) { parts.status.dataset.text = sign + text; fill(parts.status, el("i", sign), " " + text); }
    const first = row.firstFailure && !(row.last?.message && row.last.message.startsWith(row.firstFailure)) ? "; first: " + row.firstFailure : "";
    set(parts.since, (isDown(row) ? "critical and down; " : "") + (row.streak && row.failingSince ? "for " + since(row.failingSince) + first : "") + (row.streak || isDown(row) ? (row.lastSuccess ? "; last success " + ago(row.lastSuccess) : "; no success since the start") : ""));
    const [next, nextAt] = nextText(row);
    set(parts.next, next); set(parts.nextAt, nextAt);
    if (!row.last) { const tick = row.schedule?.lastTick; set(parts.last, tick ? "ticked " + stored(tick) : row.isDurable ? "no run here yet" : "no run yet"); set(parts.took, row.isDurable ? "this process has run none" : ""); return; }
    const [mark, outcomeWord, outcomeClass] = outcome(row.last.outcome);
    parts.last.className = "outcome age " + outcomeClass;
    set(parts.last, `${mark} ${outcomeWord}, ${ago(row.last.endedAt)}`);
    set(parts.took, "took " + took(row.last.tookMs));
    parts.last.title = localOf(row.last.startedAt, row.zone);
  };

  // The list.
  const order = (row) => wrongOf(row) ? (isDown(row) ? 0 : isCritical(row) ? 1 : 2) : isDown(row) ? 0 : row.isEnded ? 6 : row.state === "disabled" ? 5 : row.isPaused ? 4 : 3;
  const kindOrder = { hung: 0, late: 1, failing: 2 };
  // Faults come first, the oldest before, and stay where they are; the others stand by their names.
  const byDefault = (a, b) => {
    const x = wrongOf(a), y = wrongOf(b);
    return order(a) - order(b) || (x && y ? kindOrder[x.kind] - kindOrder[y.kind] || x.since - y.since : 0) || a.name.localeCompare(b.name);
  };
  const compare = (a, b) => {
    if (!sort.by) return byDefault(a, b);
    const value = (row) => sort.by === "name" ? row.name.toLowerCase() : sort.by === "next" ? (row.isPaused ? "8" : row.next || "9") : (row.last ? row.last.endedAt : "0");
    return (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a.name.localeCompare(b.name)) * (sort.up ? 1 : -1);
  };
  const inState = (row, state) => ({
    "": true, wrong: wrongOf(row) || isDown(row), hung: isWrong(row, "hung"), late: isWrong(row, "late"), down: isDown(row),
    failing: row.streak, running: row.running, paused: row.isPaused, ended: row.isEnded,
  }[state] ?? row.state === state);
  const textsOf = (row) => [row.name, row.rule, row.words, row.function, row.last?.message, row.firstFailure, row.pause?.reason];
  const filtered = () => {
    const [text, state, tag] = ["search", "state", "tag"].map((id) => $(id).value), wanted = text.trim().toLowerCase();
    return allRows().filter((row) => (!tag || row.tags.includes(tag)) && inState(row, state) && (!wanted || textsOf(row).some((it) => it?.toLowerCase().includes(wanted))));
  };
  let shownOrder = "";
  const list = () => {
    const wanted = filtered().sort(compare), shown = wanted.slice(0, limit), body = $("rows");
    const names = new Set(shown.map((row) => row.name));
    for (const [name, view] of rows) if (!names.has(name)) { view.tr.remove(); rows.delete(name); }
    for (const row of shown) {
      let view = rows.get(row.name);
      if (!view) { view = makeRow(row.name); rows.set(row.name, view); body.append(view.tr); }
      if (view.row !== row) paintRow(view, row);
    }
    // Nothing moves under the hand of a person who uses it.
    const isUsed = !isFresh && body.contains(document.activeElement) || !isFresh && body.matches(":hover");
    const now = shown.map((row) => row.name).join("\n");
    if (!isUsed && now !== shownOrder) { shownOrder = now; body.append(...shown.map((row) => rows.get(row.name).tr)); }
    isFresh = false;
    $("tasks").hidden = !wanted.length; $("none").hidden = wanted.length > 0;
    set($("none"), tasks.size ? "No task matches the filter." : knownAt ? "There are no tasks." : "Nothing is known of the tasks yet.");
    $("more").hidden = wanted.length <= limit;
    set($("more"), `Show ${min(100, wanted.length - limit)} more of ${wanted.length}`);
    summary(); bar();
  };
  const summary = () => {
    if (!knownAt) { fill($("summary")); return; }
    const all = allRows(), count = (test) => all.filter(test).length;
    const is = (kind) => count((row) => isWrong(row, kind));
    const parts = [
      [all.length, all.length === 1 ? "task" : "tasks"], [count((row) => row.running), "running"], [count((row) => row.isPaused), "paused"],
      [is("hung"), "hung"], [is("late"), "late"], [count((row) => row.streak && !row.isEnded), "failing"],
    ].filter(([number, word]) => number || !["hung", "late"].includes(word));
    const items = parts.map(([number, word]) => el("li", { class: ["failing", "hung", "late"].includes(word) && number && "bad" }, el("b", String(number)), " " + word));
    if (info) for (const pool of info.pools) items.push(el("li", (info.pools.length > 1 ? "pool " + pool.name + " " : "threads "), el("b", pool.active + "/" + pool.coreSize), " busy"));
    fill($("summary"), items);
    const tags = [...new Set(all.flatMap((row) => row.tags))].sort(), chosen = $("tag").value;
    if ($("tag").dataset.tags !== tags.join()) {
      $("tag").dataset.tags = tags.join();
      fill($("tag"), el("option", { value: "" }, "all"), tags.map((tag) => el("option", { selected: tag === chosen }, tag)));
    }
    if (wantedTag && tags.includes(wantedTag)) { $("tag").value = wantedTag; wantedTag = ""; isFresh = true; setTimeout(list); }
    $("tag-label").hidden = !tags.length;
  };
  const pickAll = (label, id, change) => el("th.act.pick", el("input", { type: "checkbox", id, "aria-label": label, on: { change } }));
  const sortable = (by, text) => el("th", { "data-sort": by }, button(text, () => sortBy(by)));
  const pickRows = ({ target }) => { for (const [name, view] of rows) { target.checked ? selected.add(name) : selected.delete(name); view.check.checked = target.checked; } bulk(); };
  const bulk = () => {
    for (const name of selected) if (!tasks.has(name)) selected.delete(name);
    $("bulk").hidden = !selected.size;
    $("pick-tasks").checked = selected.size > 0 && [...rows.keys()].every((name) => selected.has(name));
    set($("selected"), selected.size + " selected");
  };

  fill($("all"), tableOf("tasks", "All tasks with their schedules, next and last runs", [
    pickAll("Select all that are shown", "pick-tasks", pickRows), sortable("name", "Task"), "Schedule", sortable("next", "Next run"), sortable("last", "Last run"), "Last 60 runs", actsHead()], []));
  document.querySelector("#tasks tbody").id = "rows";

  // Pausing.
  let pausing = [], queued = "", noded = null;
  const pause = (names, queue = "", node = null) => {
    pausing = names; queued = queue; noded = node;
    set($("dialog-title"), node ? "Pause node " + node.label : queue ? "Pause queue " + queue : names.length === 1 ? "Pause " + names[0] : `Pause ${names.length} tasks`);
    $("reason").value = ""; $("length").value = "";
    $("dialog").showModal();
    $("reason").focus();
  };
  on("dialog-form", "submit", () => {
    const body = {};
    if ($("reason").value.trim()) body.reason = $("reason").value.trim();
    if ($("length").value) body.forMs = Number($("length").value);
    noded ? nodeAct(noded, "pause", body) : queued ? queueAct(queued, "pause", body) : pausing.length === 1 ? act(pausing[0], "pause", body) : many("pause", { ...body, names: pausing });
  });
  const many = async (action, body) => {
    let changed = 0;
    try { do { const answer = await ask("tasks:" + action, body); changed += answer.changed; body = { ...body, after: answer.after, action: answer.action }; } while (body.after); toast(`${changed} ${changed === 1 ? "task" : "tasks"} ${action}d`); selected.clear(); bulk(); for (const view of rows.values()) view.check.checked = false; }
    catch (error) { refused(error); }
  };

  // One task.
  let detail = null, runs = [], hasMore = false, refreshing = 0;
  const refresh = () => { if (route.view === "task" && !refreshing) refreshing = setTimeout(() => { refreshing = 0; if (route.view === "task") load(route.name); }, 700); };
  const load = async (name) => {
    const length = max(runs.length, 50);
    try {
      const [task, history, actions] = await Promise.all([ask(path(name)), ask(path(name) + "/runs?limit=" + min(length, 1000)), ask("actions?task=" + encode(name))]);
      if (route.name !== name) return;
      detail = { ...task, actions: actions.actions }; runs = history.runs; hasMore = history.hasMore;
      paintTask();
    } catch (error) {
      if (error.status !== 401 && route.name === name) oneTask(name, note("bad", error.message));
    }
  };
  const oneTask = (title, ...content) => { $("task").hidden = false; fill($("task"), crumb("#/tasks", "← All tasks"), el("h1", { id: "task-title" }, title), content); };
  const skips = (counts) => entries(counts).filter(([, count]) => count).map(([reason, count]) => `${count} ${reason}`).join(", ");
  const paintTask = () => {
    const row = detail, { counters: counts, schedule: durable } = row;
    const open = new Set([...$("task").querySelectorAll("details[open]")].map((it) => it.dataset.key));
    const isKind = row.kind === "job", isOff = row.state === "disabled";
    const may = (is, action, text, isMain, call = () => act(row.name, action)) => is && mayAct() && !row.isEnded && button(text, call, { id: "do-" + action, class: isMain && "primary" });
    const buttons = [
      may(isOff && !isKind, "enable", "Enable"),
      may(!isOff && !isKind, "run", "Run now", !row.running),
      may(!isOff && row.isPaused, "resume", "Resume"),
      may(!isOff && !row.isPaused, "pause", "Pause…", false, () => pause([row.name])),
      may(!isOff && !isKind, "rule", "Reschedule…", false, () => reschedule(row)),
      may(!isOff && row.running, "cancel", row.isAsync ? "Cancel run" : "Ask run to stop", hungSince(row))];
    const notes = [], bad = (...texts) => notes.push(note("bad", texts));
    if (row.isPaused) notes.push(note("warn", "‖ " + pausedText(row) + ", since " + ageOf(row.pause.since, clockOf(row)) + (row.pause.until ? ", until " + short(localOf(row.pause.until, row.zone)) : "")
      + (row.isDurable ? ". It holds in all processes, and after a restart." : ". A pause lasts no longer than the program runs.")));
    const wrong = wrongOf(row), listed = (rows, more) => rows.slice(0, 10).map((it, index) => [index && ", ", linkTo(it.name), more?.(it)]);
    const stop = row.running && row.actions.find((it) => it.action === "cancel" && parse(it.at) >= parse(row.runningSince));
    const isDeaf = stop && now() - parse(stop.at) > 5000, stopped = stop ? ` ${stop.who || "Somebody"} asked it to stop ${ago(stop.at)}${isDeaf ? "; it does not react" : ""}.` : "";
    if (wrong?.kind === "hung") {
      const starved = victims(row), usual = longest(row);
      bad(`▲ A run hangs: it has been in progress for ${span(now() - wrong.since)}` + (usual ? `, where the longest lately took ${took(usual)}` : "") + (dueSince(row) ? `; the next one was due ${span(now() - wrong.due)} ago` : "") + "." + stopped,
        starved.length && [` It holds a thread of pool ${row.pool}, for which wait: `, listed(starved), "."]);
    } else if (row.running) notes.push(note("run", `▶ ${row.running === 1 ? "A run is" : row.running + " runs are"} in progress, for ${since(row.runningSince)}.` + stopped));
    const by = wrong?.kind === "late" ? holders(row) : [];
    if (wrong?.kind === "late") bad(`▲ A run has been due for ${span(now() - wrong.since)}, and has not started.`, by.length && [` All threads of pool ${row.pool} are held by `, listed(by, (it) => " for " + since(it.runningSince)), "."]);
    if (row.streak && row.failingSince) bad(`✖ It has failed ${row.streak} ${row.streak === 1 ? "time" : "times in a row"}, for ${since(row.failingSince)}.`, row.firstFailure && [" The first error: ", el("bdi", row.firstFailure)]);
    if (isDown(row)) bad("▲ It is critical, and has not succeeded within its grace: the program reports DOWN.");
    if (row.triggerFailure) bad("Its trigger failed: " + row.triggerFailure);
    if (row.storeFailure) bad("The store fails: " + row.storeFailure);
    const upcoming = timesOf(row.upcoming, row.zone, (at) => row.isPaused && !row.pause.until ? "if resumed" : until(at, clockOf(row)));
    const code = (text) => text && el("code", text), jobsOf = (state) => row.isDurable && info.sections.includes("jobs") && el("a", { href: toJobs({ state, task: row.name }) }, state);
    refill($("task"), crumb("#/tasks", "← All tasks"),
      el("div.title", el("h1", { id: "task-title", tabindex: "-1" }, named(row.name)), withIcon("status", status(row)), el("span.tags", badges(row).map(badge)), el("div.buttons", buttons)),
      notes,
      el("div.grid",
        card("h-schedule", "Schedule", factsOf(
          ["Rule", row.words || row.rule], ["By hand", durable?.isOverridden && `${durable.overriddenBy ? "by " + durable.overriddenBy + ", " : ""}${stored(durable.overriddenAt)}; before: ${durable.ruleBefore}`], ["Cron", code(row.expression)], ["Zone", row.expression && row.zone],
          ["Ticks", durable && `${durable.fired} in all processes` + (durable.lastTick ? ", the last " + stored(durable.lastTick) : "")], ["Skipped", durable && skips(durable.skipped)],
          ["Jobs", jobsOf("parked"), jobsOf("ready") && " ", jobsOf("ready")], ["Function", code(row.function)], ["Source", code(row.source)], ["Pool", row.pool + (row.isAsync ? ", async" : "")])),
        card("h-next", wrong?.kind === "hung" ? "Fire times; none starts a run before this one ends" : upcoming.length > 1 ? `Next ${upcoming.length} runs` : "Next run", upcoming.length ? el("ol.upcoming", upcoming) : el("p.dim", nextText(row)[0])),
        card("h-runs", "Runs", factsOf(
          ["History", row.isDurable && "of this process; others may have run it, too"], ["Finished", `${counts.runs}, ${counts.failures} failed` + (counts.cancelled ? `, ${counts.cancelled} cancelled` : "")], ["Failed in a row", row.streak],
          ["Last success", row.lastSuccess ? time(row.lastSuccess, ago(row.lastSuccess), row.lastSuccess) : row.isDurable ? "none in this process" : "never"],
          ["Duration", row.durations && `median ${took(row.durations.p50Ms)}, 95 %: ${took(row.durations.p95Ms)}, longest ${took(row.durations.maxMs)}`], ["Skipped", skips(counts.skipped)]), spark(row.recent, 182))),
      row.isDurable && limitsOf(row.name),
      el("h2.over", { id: "h-history" }, "History"),
      runs.length ? tableOf("runs", "History", ["Run", "Started", "Late", "Took", "Outcome", "Attempts", "Details"], runs.map((run) => runRow(run, open, row.zone))) : note("", "No run yet."),
      el("p.more", hasMore && button("Show more", moreRuns, { id: "more-runs" })),
      row.actions.length > 0 && [el("h2.over", "Actions"), actionsOf(row.actions.slice(0, 20))]);
  };
  const runRow = (run, open, zoneName) => {
    const { error, failedAttempts: failed } = run, key = String(run.number);
    const details = [
      error && el("pre.is-bad", [error.message, ...(error.causes || []).map((cause) => "caused by: " + cause)].join("\n") + (error.place ? "\nat " + error.place : "")),
      run.notes?.map(sub),
      failed && el("details", { "data-key": key, open: open.has(key) }, el("summary", `failed before: ${failed.length}`), el("ul", failed.map((it) => el("li.small", `attempt ${it.attempt}: ${it.message || "failed"}`))))];
    return el("tr", cell("Run", "whole", "#" + run.number + (run.cause === "manual" ? " (manual)" : "")),
      cell("Started", "whole", time(run.startedAt, localOf(run.startedAt, zoneName), run.startedAt)), cell("Late", "whole", run.lateMs === undefined ? "–" : took(run.lateMs)), cell("Took", "whole", took(run.tookMs)),
      cell("Outcome", "whole", withIcon("outcome", outcome(run.outcome))), cell("Attempts", "whole", run.attempts), cell("Details", "detail wide", details));
  };
  const moreRuns = async () => {
    const name = route.name, last = runs.at(-1).number;
    try { const page = await ask(path(name) + "/runs?limit=50&before=" + last); if (route.name !== name) return; runs = runs.concat(page.runs); hasMore = page.hasMore; paintTask(); } catch (error) { toast(error.message); }
  };

  // Views: a further section is a further entry here. All that a view shows is in its address.
  const views = {
    tasks: { title: "Tasks", show: () => { $("list").hidden = false; fromAddress(); isFresh = true; list(); } },
    task: { show: () => { oneTask(route.name); runs = []; detail = null; load(route.name); } },
    none: { show: () => oneTask("There is nothing here", note("", "The address leads nowhere. ", el("a", { href: "#/tasks" }, "All tasks"))) },
  };
  const address = (view, params) => { const text = String(params); return "#/" + view + (text ? "?" + text : ""); };
  // Changes parts of the address; the former one stays in the history if `isMove`.
  const setParams = (changes, isMove) => {
    const params = new Params(route.params);
    for (const [name, value] of entries(changes)) if (value) params.set(name, value); else params.delete(name);
    const target = address(route.view, params);
    if (isMove) { location.hash = target; return; }
    route.params = params;
    history.replaceState(null, "", target);
  };
  let wantedTag = "";
  const fromAddress = () => {
    const { params } = route, by = params.get("sort") || "";
    $("search").value = params.get("q") || ""; $("state").value = params.get("state") || "";
    if ($("state").value !== (params.get("state") || "")) $("state").value = "";
    wantedTag = params.get("tag") || ""; $("tag").value = wantedTag;
    sort = { by: ["name", "next", "last"].includes(by) ? by : "", up: params.get("order") !== "down" };
    for (const head of every("th[data-sort]")) { head.removeAttribute("aria-sort"); if (head.dataset.sort === sort.by) head.setAttribute("aria-sort", sort.up ? "ascending" : "descending"); }
  };
  const go = () => {
    if (inFragment()) { begin(); return; }
    const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s), parts = path.split("/");
    const one = { tasks: "task", jobs: "job" }[parts[0]], params = new Params(query || "");
    const next = one && parts[1] ? { view: one, name: decode(parts.slice(1).join("/")), params } : { view: views[parts[0]] && views[parts[0]].title ? parts[0] : parts[0] ? "none" : "tasks", params };
    if (!info) return;
    const isMove = route.view && (next.view !== route.view || next.name !== route.name);
    route = next;
    for (const id of ["list", "task", "store-section", "sign-in", "job-filter"]) $(id).hidden = true;
    $("trouble").hidden = false;
    const section = { task: "tasks", job: "jobs" }[route.view] || route.view;
    const sections = ["tasks", "timeline", ...info.sections.slice(1), "actions"].filter((it) => views[it]);
    fill($("sections"), sections.map((it) => el("li", el("a", { href: "#/" + it, "data-view": it, "aria-current": it === section && "page" }, views[it].title, el("span.count", { hidden: true })))));
    drawn = ""; bar();
    views[route.view].show();
    if (isMove) { scrollTo(0, 0); $("main").focus({ preventScroll: true }); }
  };
  const decode = (text) => { try { return decodeURIComponent(text); } catch { return text; } };

  // Live.
  let stream = null, seen = "", lostAt = 0, wait = 1000, again = 0, heardAt = 0, answered = 0, isSilent = false;
  let wasLost = false;
  const link = (state, text) => {
    const isLost = state === "lost";
    $("connection").dataset.state = state;
    set($("connection"), text);
    document.body.classList.toggle("stale", isLost);
    if (isLost || wasLost) for (const it of every("main td button, #store button, #task .title button, #bulk button")) it.disabled = isLost;
    wasLost = isLost;
  };
  const stop = () => { clearTimeout(again); if (stream) stream.abort(); stream = null; };
  const update = (row) => {
    if (row.isRemoved) { tasks.delete(row.name); selected.delete(row.name); return; }
    tasks.set(row.name, row);
    if (route.view === "task" && detail?.name === row.name) refresh();
  };
  const onEvent = (name, data) => {
    heardAt = answered = wall();
    if (data.now) shift = parse(data.now) - wall();
    knownAt = wall() + shift;
    const isWhole = name === "snapshot" || name === "reset";
    if (isWhole) { tasks.clear(); data.tasks.forEach((row) => tasks.set(row.name, row)); }
    if (name === "tasks") data.tasks.forEach(update);
    if (name === "tick") { if (data.count !== tasks.size) { seen = ""; stop(); connect(); return; } }
    if (isWhole && route.view === "task") refresh();
    if (route.view === "tasks") list(); else bar();
    tell();
  };
  const connect = async () => {
    if (stream || hid() || !info) return;
    const own = stream = new AbortController();
    try {
      const answer = await fetch(api + "events", { headers: headers(seen ? { "Last-Event-ID": seen } : {}), signal: own.signal, cache: "no-store", credentials: "same-origin" });
      if (answer.status === 401) { keep(""); signIn("The token is not valid any more."); return; }
      if (!answer.ok) { const refused = new Error((await answer.json().catch(() => ({}))).detail || answer.status + " " + answer.statusText); refused.isRefusal = true; throw refused; }
      isPolling = false; $("connection").title = "";
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      wait = 1000;
      if (!lostAt) link("live", "live");
      for (let text = ""; ;) {
        const { value, done } = await reader.read();
        if (done) throw new Error("the stream has ended");
        text += value;
        const parts = text.split("\n\n");
        text = parts.pop();
        for (const part of parts) { const found = /^(?:id: (\S+)\n)?event: (\S+)\ndata: (.*)$/s.exec(part); if (found && stream === own) { onEvent(found[2], JSON.parse(found[3])); seen = found[1] || seen; } }
        // It says that it is live once all that it shows is.
        if (lostAt && parts.length) { await watch(); if (stream !== own) return; announce("connected again"); lostAt = 0; isSilent = false; link("live", "live"); bar(); }
      }
    } catch (error) {
      if (stream !== own) return;
      stream = null;
      own.abort();
      if (error.isRefusal) { pollInstead(error.message); return; }
      lost();
      again = setTimeout(async () => { try { await about(); } catch {} connect(); }, wait);
      wait = min(wait * 2, 10000);
    }
  };
  // The stream is refused, as it is when too many watch: the page asks every few seconds.
  const pollInstead = async (why) => {
    isPolling = true; seen = "";
    clearTimeout(again);
    try { await pollTasks(); lostAt = 0; isSilent = false; link("polling", "every 5 s"); $("connection").title = why; }
    catch (error) { if (error.status === 401 || error.status === 429) return; lost(); }
    again = setTimeout(connect, 5000);
  };
  const pollTasks = async () => { const answer = await ask("tasks"); onEvent("snapshot", answer); };
  const lost = (at = wall()) => {
    if (!lostAt) { lostAt = at; announce("connection lost"); }
    const age = span(wall() - lostAt);
    link("lost", isSilent ? `no answer for ${age}, retrying` : `disconnected ${age} ago, retrying`); bar();
  };
  // The page asks every five seconds. A process that is frozen, or whose machine is gone, ends no connection.
  const hasGoneSilent = () => $("sign-in").hidden && answered && wall() - answered > (hid() ? 150000 : 10000);
  document.addEventListener("visibilitychange", () => { answered = wall(); if (hid()) { stop(); link("off", "asleep"); } else connect(); poll(); watch(); });
  const clockText = (at) => localOf(iso(at)).slice(15, 23);
  const clock = () => { const text = localOf(iso(now())); set($("clock"), `${zoneOf().name} ${text.slice(15)}`); };
  $("zone").value = zone;
  on("zone", "input", () => { zone = $("zone").value; ofBrowser.set(zone === "task" ? "" : zone); begin(); });
  setInterval(() => {
    if (!info) return;
    if (lostAt) lost();
    else if (hasGoneSilent()) { isSilent = true; stop(); lost(answered); connect(); }
    else if (stream && heardAt && wall() - heardAt > 40000) { stop(); lost(); connect(); }
    if (lostAt) return;
    clock(); bar(); tell();
    if (route.view === "task" && detail) { const wrong = wrongOf(detail), kind = wrong ? wrong.kind : ""; if (kind !== detailKind || (wrong || detail.running) && heardAt && floor(now() / 1000) % 10 === 0) { detailKind = kind; refresh(); } }
    if (route.view !== "tasks") return;
    for (const view of rows.values()) if (view.row) age(view);
    // Time alone makes a task late.
    const present = allRows().map((row) => { const wrong = wrongOf(row); return wrong?.kind; }).join();
    if (present !== kindsShown) { kindsShown = present; list(); }
  }, 1000);
  let kindsShown = "", detailKind = "";

  const about = async () => {
    info = await ask("info");
    shift = parse(info.now) - wall();
    clock();
    set($("title"), info.application);
    document.body.classList.toggle("may-act", mayAct());
    $("visitor").hidden = false;
    set($("visitor"), info.isReadOnly ? "read-only" : mayAct() ? info.visitor.name : info.visitor.name + " · read-only");
    set($("history"), `The history has the last ${info.history.runsPerTask} runs of each task since ${short(localOf(info.startedAt))}, in memory.` + (info.history.lostEvents ? ` ${info.history.lostEvents} events came too fast to be kept.` : ""));
  };
  const begin = async () => {
    stop(); seen = "";
    clearTimeout(again);
    try { await about(); } catch (error) { if (![401, 429].includes(error.status)) { $("sign-in").hidden = false; $("sign-in-form").hidden = true; set($("sign-in-why"), error.message); again = setTimeout(begin, 3000); } return; }
    go();
    connect();
    watch();
  };
  // {{trouble}}
  // {{jobs}}
  // {{limits}}
  // {{timeline}}
  for (const id of ["search", "state", "tag"]) on(id, "input", () => { limit = 100; isFresh = true; setParams({ q: $("search").value.trim(), state: $("state").value, tag: $("tag").value }); list(); });
  on("filter", "submit", (event) => halt(event));
  on("more", "click", () => { limit += 100; isFresh = true; list(); });
  on("pause-selected", "click", () => pause([...selected]));
  on("resume-selected", "click", () => many("resume", { names: [...selected] }));
  const sortBy = (by) => {
    sort = sort.by !== by ? { by, up: by !== "last" } : sort.up === (by !== "last") ? { by, up: !sort.up } : { by: "", up: true };
    setParams({ sort: sort.by, order: sort.by && !sort.up ? "down" : "" });
    fromAddress();
    isFresh = true; list();
  };
  document.querySelector(".skip").addEventListener("click", (event) => { halt(event); $("main").focus(); });
  addEventListener("hashchange", go);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea, dialog")) return;
    const field = ["search", "job-error"].map($).find((it) => it.offsetParent);
    if (field) { halt(event); field.focus(); }
  });
  begin();
})();
