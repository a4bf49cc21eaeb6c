// The dashboard in a browser. Run by ci/browser.sh; arguments are parts of names of cases.
import { createServer } from "node:http";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { Browser, assert, begin, equal, token } from "./scene.mjs";

const shots = new URL("./shots/", import.meta.url).pathname;
mkdirSync(shots, { recursive: true });
const cases = [];
const test = (name, scene, run) => cases.push({ name, scene, run });
const state = (page, wanted) => page.waitForFunction((it) => document.getElementById("connection").textContent.startsWith(it), wanted);

test("the link signs in, and the token stays nowhere but in the tab", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  equal(page.url(), scene.page, "the address");
  equal((await page.context().cookies()).length, 0, "cookies");
  equal(await page.evaluate(() => localStorage.length), 0, "what outlives the tab");
  await page.reload();
  await page.waitForSelector("#rows tr");
  await state(page, "live");
  equal(await page.locator("#rows tr").count(), 6, "tasks");
  await page.finish();
});

test("without a token, or with a wrong one, there is a form that says so", "basic", async (scene, browser) => {
  const fresh = await Browser.open();
  const page = await fresh.page(scene, { link: scene.page + "#token=wrong-token-here", rows: false });
  await page.waitForSelector("#sign-in-form:visible");
  assert((await page.textContent("#sign-in-why")).includes("wrong"), "it says why");
  assert(!page.url().includes("token"), "the address");
  await page.fill("#token", token);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#rows tr");
  await page.finish(/401/);
  await fresh.close();
});

test("rows change by themselves, and a run can be asked for", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await state(page, "live");
  const runs = async () => (await page.row("tick").locator("svg").getAttribute("aria-label"));
  const before = await runs();
  await page.waitForFunction((before) => [...document.querySelectorAll("#rows tr")].some((row) => row.textContent.startsWith("tick") && row.querySelector("svg").getAttribute("aria-label") !== before), before);
  await page.row("export").getByRole("button", { name: "Run now: export" }).click();
  await page.row("export").getByText("disk full").waitFor();
  await page.row("export").getByText("failing").waitFor();
  assert((await page.textContent("#announce")).includes("export failed"), "it is announced");
  assert((await page.textContent("#summary")).includes("1 failing"), "it is counted");
  await page.finish();
});

test("a task that runs cannot be run, and can be asked to stop", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.row("slow").getByRole("button", { name: "Run now: slow" }).click();
  await page.row("slow").getByText("running for").waitFor();
  await page.row("slow").getByRole("button", { name: "Run now: slow" }).click();
  await page.locator("#toast").getByText(/`slow`.*running/).waitFor();
  await page.getByRole("link", { name: "slow", exact: true }).click();
  await page.getByRole("button", { name: "Ask run to stop" }).click();
  await page.locator("#runs").getByText("#1 (manual)").waitFor();
  await page.finish(/409/);
});

test("a pause has a reason and a name, and ends", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.row("import").getByRole("button", { name: "Pause…: import" }).click();
  equal(await page.evaluate(() => document.activeElement.id), "reason", "focus");
  await page.fill("#reason", "migration <b>");
  await page.selectOption("#length", "3600000");
  await page.keyboard.press("Enter");
  await page.row("import").getByText("paused by ops: “migration <b>”").waitFor();
  await page.row("import").getByText("paused until").waitFor();
  await page.row("import").getByRole("button", { name: "Resume: import" }).click();
  await page.row("import").getByText("waiting").waitFor();
  const actions = await (await scene.api("actions?task=import")).json();
  equal(actions.actions.map((it) => it.action).join(), "resume,pause", "actions");
  await section(page, "Actions");
  const change = page.locator("#actions tbody tr").nth(1);
  for (const text of ["import", "pause", "ops", "migration <b>", "127.0.0.1"]) await change.getByText(text).first().waitFor();
  await change.getByRole("link", { name: "import" }).click();
  await page.locator("#task #actions tbody tr").nth(1).waitFor();
  await page.locator("#sections").getByRole("link", { name: /^Tasks/ }).click();
  // Several at once.
  for (const name of ["import", "export"]) await page.getByRole("checkbox", { name: "Select " + name }).check();
  await page.getByRole("button", { name: "Pause…", exact: true }).first().click();
  await page.keyboard.press("Enter");
  await page.getByText("2 tasks paused").waitFor();
  await page.locator("#pick-tasks").check();
  await page.getByText("6 selected").waitFor();
  assert(await page.row("slow").getByRole("checkbox").isChecked(), "all are selected");
  await page.locator("#pick-tasks").uncheck();
  await page.locator("#bulk").waitFor({ state: "hidden" });
  await page.finish();
});

test("a task has its next runs, with changes of the clocks, and its history", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.getByRole("link", { name: "report", exact: true }).click();
  await page.locator(".upcoming li").first().waitFor();
  equal(await page.locator(".upcoming li").count(), 10, "next runs");
  assert(/09:00 \+0[12]:00/.test(await page.locator(".upcoming li").first().textContent()), "with their offset");
  equal(await page.title(), "report · test shop · scheduler", "title");
  equal(await page.evaluate(() => document.activeElement.id), "main", "focus");
  await page.goBack();
  await page.waitForSelector("#list:visible");
  await page.getByRole("link", { name: "export", exact: true }).click();
  await page.locator("#task").getByRole("button", { name: "Run now" }).click();
  await page.locator("#runs pre").getByText("disk full").waitFor();
  await page.locator("#actions tr").filter({ hasText: "run" }).filter({ hasText: "ops" }).waitFor();
  await page.finish();
});

test("a disabled task can be enabled", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.row("old").getByRole("button", { name: "Enable: old" }).click();
  await page.row("old").getByText("waiting").waitFor();
  await page.finish();
});

test("tasks are found by name, state and tag, and sorted", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  const names = async () => (await page.locator("#rows tr td.task a").allTextContents()).join();
  await page.fill("#search", "EXP");
  equal(await names(), "export", "by name");
  await page.fill("#search", "nothing like it");
  await page.getByText("No task matches the filter.").waitFor();
  await page.fill("#search", "");
  await page.selectOption("#tag", "shop");
  equal((await names()).split(",").sort().join(), "export,import", "by tag");
  await page.selectOption("#tag", "");
  await page.selectOption("#state", "disabled");
  equal(await names(), "old", "by state");
  await page.selectOption("#state", "");
  await page.getByRole("button", { name: "Task", exact: true }).click();
  equal(await names(), "export,import,old,report,slow,tick", "by name, up");
  equal(await page.locator("th[data-sort=name]").getAttribute("aria-sort"), "ascending", "aria-sort");
  await page.finish();
});

test("a server that goes is noticed, and one that comes again", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await state(page, "live");
  await scene.tell("stop");
  await state(page, "disconnected");
  await page.waitForTimeout(1100);
  assert(/disconnected [12] s ago, retrying/.test(await page.textContent("#connection")), await page.textContent("#connection"));
  equal(await page.textContent("#announce"), "connection lost", "announced");
  await scene.tell("start");
  await state(page, "live");
  await page.finish(/ERR_|Failed to fetch|Failed to load/);
});

test("a process that does not answer any more is no live one, and says since when", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await state(page, "live");
  scene.signal("SIGSTOP");
  try {
    await page.waitForFunction(() => /^no answer for 1\d s, retrying$/.test(document.getElementById("connection").textContent), null, { timeout: 20000 });
    await page.locator("#trouble").getByText(/The process does not answer: all below is as of \d\d:/).waitFor();
    assert((await page.title()).startsWith("(?)"), await page.title());
    assert(await page.row("import").getByRole("button", { name: "Run now: import" }).isDisabled(), "a button");
    equal(await page.textContent("#announce"), "connection lost", "announced");
  } finally { scene.signal("SIGCONT"); }
  await state(page, "live");
  await page.locator("#trouble").getByText("does not answer").waitFor({ state: "hidden" });
  await page.finish();
});

test("a page that asks every few seconds says, too, that the process does not answer", "basic", async (scene, browser) => {
  const refused = JSON.stringify({ detail: "32 pages watch already, which is the most" });
  const page = await browser.page(scene, { rows: false, link: "about:blank" });
  await page.route("**/api/v1/events", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: refused }));
  await page.goto(scene.link);
  await state(page, "every 5 s");
  scene.signal("SIGSTOP");
  try { await page.waitForFunction(() => document.getElementById("connection").textContent.startsWith("no answer for"), null, { timeout: 20000 }); } finally { scene.signal("SIGCONT"); }
  await state(page, "every 5 s");
  await page.finish(/503|Failed to load/);
});

test("a hidden tab watches no longer", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await state(page, "live");
  const hide = (hidden) => page.evaluate((hidden) => { Object.defineProperty(document, "hidden", { value: hidden, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); }, hidden);
  const open = async () => (await (await scene.api("info")).json()).streams.open;
  equal(await open(), 1, "streams");
  await hide(true);
  await page.waitForTimeout(600);
  equal(await open(), 0, "streams of a hidden tab");
  await hide(false);
  await state(page, "live");
  await page.finish();
});

test("read-only has no buttons, and the server refuses", "read-only", async (scene, browser) => {
  const page = await browser.page(scene);
  equal(await page.getByRole("button", { name: /Run|Pause|Resume|Enable/ }).count(), 0, "buttons");
  equal(await page.getByRole("checkbox").count(), 0, "checkboxes");
  equal(await page.textContent("#visitor"), "read-only", "badge");
  const answer = await scene.api("tasks/import/run", { method: "POST", headers: { "Content-Type": "application/json" } });
  equal(answer.status, 403, "status");
  await page.getByRole("link", { name: "import", exact: true }).click();
  await page.locator("#h-history").waitFor();
  equal(await page.getByRole("button").count(), 0, "buttons of a task");
  await page.finish();
});

test("it works below a prefix, with a slash and without", "mounted", async (scene, browser) => {
  for (const link of [scene.link, scene.page + "/#token=" + token]) {
    const page = await browser.page(scene, { link });
    await state(page, "live");
    await page.row("import").getByRole("button", { name: "Run now: import" }).click();
    await page.getByText("import: asked to run").waitFor();
    await page.finish();
  }
});

test("a foreign name that points here is refused", "basic", async (scene) => {
  const browser = await Browser.open(["--host-resolver-rules=MAP evil.example 127.0.0.1"]);
  const port = new URL(scene.page).port;
  const page = await browser.context.newPage();
  const answer = await page.goto(`http://evil.example:${port}/`);
  equal(answer.status(), 403, "the page");
  assert((await answer.text()).includes("allow_host"), "it says what to do");
  const status = await page.evaluate(async (token) => (await fetch("/api/v1/tasks/import/run", { method: "POST", headers: { "Content-Type": "application/json", Authorization: "Bearer " + token } })).status, token).catch(() => 0);
  assert([0, 403].includes(status), `a request: ${status}`);
  const task = await (await scene.api("tasks/import")).json();
  equal(task.counters.runs, 0, "runs");
  await browser.close();
});

test("another site can neither read nor change anything", "basic", async (scene, browser) => {
  const foreign = createServer((_, answer) => { answer.setHeader("content-type", "text/html"); answer.end("<!doctype html><form method=post target=x id=f></form><iframe name=x></iframe>"); });
  await new Promise((done) => foreign.listen(0, "127.0.0.1", done));
  const page = await browser.context.newPage();
  await page.goto(`http://localhost:${foreign.address().port}/`);
  const read = await page.evaluate(async ([target, token]) => {
    const url = target + "api/v1/tasks/import/pause";
    const json = { "Content-Type": "application/json", Authorization: "Bearer " + token };
    const tries = [
      fetch(url, { method: "POST", mode: "no-cors", body: "{}" }),
      fetch(url, { method: "POST", headers: json, body: "{}" }),
      fetch(target + "api/v1/tasks", { headers: json }),
      fetch(target + "metrics"),
    ];
    document.getElementById("f").action = url;
    document.getElementById("f").submit();
    const answers = await Promise.allSettled(tries);
    return answers.filter((it) => it.status === "fulfilled" && it.value.type !== "opaque").length;
  }, [scene.page, token]);
  equal(read, 0, "what it could read");
  await page.waitForTimeout(500);
  equal((await (await scene.api("tasks/import")).json()).isPaused, false, "paused");
  equal((await (await scene.api("actions")).json()).actions.length, 0, "actions");
  await page.close();
  foreign.close();
});

const lan = Object.values(networkInterfaces()).flat().find((it) => it.family === "IPv4" && !it.internal);
if (lan) test("actions work by plain HTTP over the network", "basic 0.0.0.0:0", async (scene, browser) => {
  const link = scene.link.replace("localhost", lan.address);
  const page = await browser.page(scene, { link, origin: new URL(link).origin });
  await page.row("import").getByRole("button", { name: "Run now: import" }).click();
  await page.getByText("import: asked to run").waitFor();
  await page.finish();
});

const now = (page) => page.evaluate(() => location.hash);

test("what is wrong stands above all sections, with whom it concerns", "trouble", async (scene, browser) => {
  const page = await browser.page(scene);
  const bar = page.locator("#trouble");
  await bar.getByText(/1 late: starved, by .*, pool reports held by hung/).waitFor();
  await bar.getByText(/1 hung: hung, running for/).waitFor();
  await bar.getByText(/100 jobs parked/).waitFor();
  await bar.getByText(/100 × shop::image: cannot decode image \*\.png/).waitFor();
  await bar.getByText(/1 of 2 processes: web-2 lost/).waitFor();
  await bar.getByText("DOWN").waitFor();
  await bar.getByText(/1 paused: import by night shift/).waitFor();
  const row = (name) => page.row(name).locator(".status");
  assert(/is-bad/.test(await row("hung").getAttribute("class")) && (await row("hung").textContent()).includes("hung, running"), "the hung task is no healthy one");
  assert(/late by .*held by hung for/.test(await row("starved").textContent()), await row("starved").textContent());
  assert(/is-bad/.test(await row("starved").getAttribute("class")), "the starved task is not grey");
  assert(/for \d+ s.*no success since the start/.test(await page.row("export").textContent()), "since when it fails");
  const names = await page.locator("#rows tr td.task a").allTextContents();
  equal(names.slice(0, 3).join(), "export,hung,starved", "what is wrong comes first");
  assert(/^\(\d+\) test shop/.test(await page.title()), await page.title());
  equal(await page.locator("#sections a[data-view=jobs] .count").textContent(), "100", "the count in the navigation");
  assert((await page.locator("#icon").getAttribute("href")).includes("c62828"), "the icon");
  for (const name of ["Jobs", "Queues", "Nodes"]) { await page.locator("#sections").getByRole("link", { name: new RegExp("^" + name) }).click(); await page.getByRole("heading", { name, exact: true }).waitFor(); assert(await bar.isVisible(), "on " + name); }
  await page.finish();
});

test("the last and the next hour of all tasks are on one page", "trouble", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.locator("#trouble").getByText(/1 late/).waitFor();
  await page.locator("#trouble").getByText(/1 hung/).waitFor();
  await section(page, "Timeline");
  await page.locator("#timeline tbody tr").nth(5).waitFor();
  const strip = (name) => page.locator("#timeline tr").filter({ has: page.getByRole("link", { name, exact: true }) }).locator("svg").getAttribute("aria-label");
  assert(/late or overdue in 1 min; next hour: due in 60 min/.test(await strip("starved")), await strip("starved"));
  assert(/paused in 1 min; next hour: due in 0 min/.test(await strip("import")), await strip("import"));
  equal(await page.locator("#timeline tr.failing").first().locator("td.task").textContent(), "hung", "what is wrong comes first");
  await page.finish();
});

test("runs and waits of the last hour have a chart for the process and for each queue", "trouble", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.locator("#trouble").getByText(/100 × shop::image/).waitFor();
  await section(page, "Timeline");
  const queue = page.locator(".card").filter({ has: page.getByRole("heading", { name: "Queue default" }) });
  await queue.getByText(/100 runs, at most \d+ a minute; 100 failed/).waitFor();
  await queue.getByText(/Wait for the start: .* on average \(strong\), at most /).waitFor();
  const all = page.locator(".card").filter({ has: page.getByRole("heading", { name: "Runs of this process" }) });
  const bars = (card, kind) => card.locator(`svg path.${kind}`).first().getAttribute("d");
  assert(/^(M\d+ 30v-[\d.]+h\.82V30z)+$/.test(await bars(queue, "bad")), "bars of failed jobs");
  assert(/^M0 0h5[89]V30H0z$/.test(await bars(all, "unknown")), `what is not known: ${await bars(all, "unknown")}`);
  await scene.tell("mend");
  await scene.api("jobs:retry", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ matching: { state: "parked" } }) });
  await queue.getByText(/200 runs, at most \d+ a minute; 100 failed/).waitFor({ timeout: 20000 });
  await page.finish();
});

test("a tab that nobody sees has its title and its icon, and buttons of a lost program do nothing", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await state(page, "live");
  await scene.tell("stop");
  await state(page, "disconnected");
  assert((await page.title()).startsWith("(?)"), await page.title());
  await page.locator("#trouble").getByText(/Not connected: all below is as of \d\d:/).waitFor();
  assert(await page.row("import").getByRole("button", { name: "Run now: import" }).isDisabled(), "a button");
  // What is due by now may have run: nothing new is late.
  await page.waitForFunction(() => /disconnected ([7-9]|\d\d) s ago/.test(document.getElementById("connection").textContent));
  const bar = await page.locator("#trouble").textContent();
  assert(!bar.includes("late"), bar);
  await scene.tell("start");
  await state(page, "live");
  await page.row("import").getByRole("button", { name: "Run now: import" }).click();
  await page.getByText("import: asked to run").waitFor();
  await page.finish(/ERR_|Failed to (fetch|load)/);
});

test("an incident is mended: the hung task, its victim and a hundred parked jobs", "trouble", async (scene, browser) => {
  const page = await browser.page(scene);
  const bar = page.locator("#trouble");
  let clicks = 0;
  const click = async (it) => { clicks += 1; await it.click(); };
  await bar.getByText(/1 late/).waitFor();
  await bar.getByText(/100 × shop::image/).waitFor();
  // The hung task.
  await click(bar.getByRole("link", { name: /1 hung/ }));
  await page.locator("#task .note.bad").getByText(/A run hangs.*for which wait: starved/).waitFor();
  await click(page.getByRole("button", { name: "Ask run to stop" }));
  await bar.getByText(/late/).waitFor({ state: "hidden" });
  await bar.getByText(/hung/).waitFor({ state: "hidden" });
  equal(clicks, 2, "clicks for the hung task");
  // The jobs.
  await scene.tell("mend");
  await click(bar.getByRole("link", { name: /100 × shop::image/ }));
  equal(decodeURIComponent((await now(page)).replaceAll("+", " ")), "#/jobs?state=parked&task=shop::image&error=cannot decode image *.png", "the address");
  await click(page.getByRole("button", { name: "Retry all…" }));
  await page.locator("#sure").getByText("Retry 100 jobs?").waitFor();
  await click(page.locator("#sure-ok"));
  await page.getByText("100 jobs retried").waitFor();
  await bar.getByText(/parked/).waitFor({ state: "hidden" });
  equal(clicks, 5, "clicks in all");
  const { actions } = await (await scene.api("actions")).json();
  const retried = actions.find((it) => it.action === "retry");
  equal(`${retried.count}: ${retried.matching}`, "100: parked, task shop::image, error cannot decode image *.png", "the action");
  await page.finish();
});

test("jobs are filtered, selected, and deleted with their number", "trouble", async (scene, browser) => {
  const page = await browser.page(scene, { link: scene.page + "#token=" + token, rows: true });
  await page.locator("#trouble").getByText(/100 × shop::image/).waitFor();
  await page.goto(scene.page + "#/jobs?state=parked&error=image 7");
  await page.locator("#jobs").getByText("cannot decode image 7.png").waitFor();
  equal(await page.inputValue("#job-error"), "image 7", "the filter of the address");
  equal(await page.locator("#jobs tbody tr").count(), 11, "7, and 70 to 79");
  await page.fill("#job-error", "IMAGE 77");
  await page.waitForFunction(() => document.querySelectorAll("#jobs tbody tr").length === 1);
  assert((await now(page)).includes("IMAGE+77"), await now(page));
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll("#jobs tbody tr").length === 1);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.waitForFunction(() => document.querySelectorAll("#jobs tbody tr").length === 50);
  await page.locator("#jobs tbody input").nth(0).check();
  await page.locator("#jobs tbody input").nth(1).check();
  await page.waitForTimeout(2500);
  equal(await page.locator("#jobs tbody input:checked").count(), 2, "an update leaves the selection");
  await page.getByRole("button", { name: "Delete selected…" }).click();
  await page.locator("#sure").getByText("Delete 2 jobs?").waitFor();
  equal(await page.evaluate(() => document.activeElement.id), "sure-cancel", "the focus is on what does no harm");
  await page.locator("#sure-ok").click();
  await page.getByText("2 jobs deleted").waitFor();
  await page.locator("#state-parked").getByText("parked 98").waitFor();
  await page.locator("#pick-all").check();
  await page.locator("#picked-bar").getByText("50 selected").waitFor();
  await page.goBack();
  await page.finish();
});

test("queues lead to their jobs, and a viewer sees no buttons", "trouble", async (scene) => {
  const fresh = await Browser.open();
  const page = await fresh.page(scene, viewerOf(scene));
  await page.locator("#trouble").getByText(/100 × shop::image/).waitFor();
  await page.locator("#sections").getByRole("link", { name: /^Queues/ }).click();
  await page.locator("#queues").getByRole("link", { name: "✖ 100" }).first().click();
  await page.locator("#jobs tbody tr").first().waitFor();
  equal(await now(page), "#/jobs?state=parked&queue=default", "the address");
  equal(await page.locator("#store .act button:visible").count(), 0, "buttons");
  await page.finish();
  await fresh.close();
});

test("the limits of a kind are opened, and one is set by hand and reset", "trouble", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.evaluate(() => { location.hash = "#/tasks/" + encodeURIComponent("shop::image"); });
  const limits = page.locator("#limits");
  await limits.getByText("Limits and partitions").click();
  await limits.locator("#limit-scope").selectOption("all");
  await limits.locator("#limit-running").fill("3");
  await limits.locator("#limit-rate").fill("100/1m");
  await limits.locator("#limit-reason").fill("their API is slow");
  await limits.locator("#limit-set").click();
  await limits.getByText(/^all jobs: 3 running, 100 starts in 60s, 10 at once, by .+: their API is slow; in the code none$/).waitFor();
  await limits.locator("#limit-running").fill("");
  await limits.locator("#limit-rate").fill("no rate");
  await limits.locator("#limit-set").click();
  await limits.locator("p.is-bad").getByText(/limit.rate/).waitFor();
  equal(await limits.locator("li").count(), 1, "the limit stays");
  await limits.locator("#limit-reset").click();
  await limits.locator("li").first().waitFor({ state: "detached" });
  await page.finish(/400/);
});

test("the address has the search, the state and the order, and a wrong one says so", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.fill("#search", "exp");
  await page.selectOption("#tag", "shop");
  for (let times = 0; times < 2; times += 1) await page.locator("th[data-sort=name] button").click();
  equal(await now(page), "#/tasks?q=exp&tag=shop&sort=name&order=down", "the address");
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll("#rows tr").length === 1);
  equal(await page.inputValue("#search"), "exp", "search");
  equal(await page.inputValue("#tag"), "shop", "tag");
  equal(await page.locator("th[data-sort=name]").getAttribute("aria-sort"), "descending", "order");
  await page.getByRole("link", { name: "export", exact: true }).click();
  await page.locator("#h-history").waitFor();
  await page.goBack();
  await page.waitForFunction(() => document.getElementById("search").value === "exp");
  await page.evaluate(() => { location.hash = "#/no/such"; });
  await page.getByText("There is nothing here").waitFor();
  await page.finish();
});

test("a new tab is signed in while another one is, and the token is stored nowhere else", "basic", async (scene) => {
  const fresh = await Browser.open();
  const page = await fresh.page(scene);
  const other = await fresh.page(scene, { link: scene.page + "#/tasks/import", rows: false });
  await other.locator("#h-history").waitFor();
  equal(await other.evaluate(() => localStorage.length), 0, "what outlives the tabs");
  await other.finish(/401/);
  await page.finish();
  const last = await fresh.page(scene, { link: scene.page, rows: false });
  await last.waitForSelector("#sign-in-form:visible");
  await last.finish(/401/);
  await fresh.close();
});

test("a page whose stream is refused asks every few seconds, and never claims to know", "basic", async (scene, browser) => {
  const refused = JSON.stringify({ detail: "32 pages watch already, which is the most" });
  const page = await browser.page(scene, { rows: false, link: "about:blank" });
  await page.route("**/api/v1/events", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: refused }));
  await page.route("**/api/v1/tasks", (route) => route.abort());
  await page.goto(scene.link);
  await page.getByText("Nothing is known").first().waitFor();
  assert(!/0 failing|There are no tasks|Nothing is wrong/.test(await page.locator("main").textContent().then(() => page.locator("main").innerText())), await page.locator("main").innerText());
  assert((await page.title()).startsWith("(?)"), await page.title());
  await page.unroute("**/api/v1/tasks");
  await page.waitForSelector("#rows tr", { timeout: 15000 });
  await state(page, "every 5 s");
  assert((await page.getAttribute("#connection", "title")).includes("32 pages"), "it says why");
  await page.row("import").getByRole("button", { name: "Run now: import" }).click();
  await page.row("import").getByText(/✔ ok/).waitFor({ timeout: 8000 });
  await page.unroute("**/api/v1/events");
  await state(page, "live");
  await page.finish(/503|ERR_|Failed to (fetch|load)/);
});

test("times are shown in the zone of the task, of the browser, or in UTC", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.getByRole("link", { name: "report", exact: true }).click();
  await page.locator(".upcoming li").first().getByText(/09:00 \+0[12]:00/).waitFor();
  await page.selectOption("#zone", "utc");
  await page.locator(".upcoming li").first().getByText(/0[78]:00 \+00:00/).waitFor();
  await page.locator("#clock").getByText(/UTC .*\+00:00/).waitFor();
  await page.reload();
  await page.locator(".upcoming li").first().getByText(/\+00:00/).waitFor();
  await page.selectOption("#zone", "task");
  await page.locator(".upcoming li").first().getByText(/09:00 \+0[12]:00/).waitFor();
  equal(await page.evaluate(() => localStorage.length), 0, "what is stored");
  await page.finish();
});

test("a browser that does not know a zone shows UTC and says so", "basic", async (scene, browser) => {
  for (const unknown of ["Europe/Berlin", ""]) {
    const page = await browser.page(scene);
    await page.addInitScript((unknown) => {
      const Known = Intl.DateTimeFormat;
      Intl.DateTimeFormat = function (locale, options) { if (options && (!unknown || options.timeZone === unknown)) throw new RangeError("unknown"); return new Known(locale, options); };
    }, unknown);
    await page.reload();
    await page.getByRole("link", { name: "report", exact: true }).click();
    await page.locator(".upcoming li").first().getByText(/^[A-Z][a-z]{2} \d{4}-\d\d-\d\d 0[78]:00 \+00:00/).waitFor();
    if (!unknown) await page.selectOption("#zone", "browser");
    if (!unknown) await page.locator("#clock").getByText(/^UTC .*\+00:00$/).waitFor();
    if (!unknown) await page.selectOption("#zone", "task");
    await page.finish();
  }
});

test("an instant that a browser cannot read is shown as it came", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  const late = "+33714-01-01T00:00:00Z";
  await page.route("**/api/v1/tasks/report", async (route) => {
    const response = await route.fetch(), row = await response.json(), pause = { by: "ops", since: row.next, until: late };
    await route.fulfill({ response, json: { ...row, isPaused: true, pause, upcoming: [{ at: late }, ...row.upcoming] } });
  });
  await page.getByRole("link", { name: "report", exact: true }).click();
  await page.locator("#task").getByText(`until ${late}`).first().waitFor();
  await page.locator(".upcoming li").first().getByText(late).waitFor();
  await state(page, "live");
  await page.finish();
});

test("failing tasks stand still, and only the first failure is announced", "failing", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.evaluate(() => { window.said = []; new MutationObserver(() => window.said.push(document.getElementById("announce").textContent)).observe(document.getElementById("announce"), { childList: true, characterData: true, subtree: true }); window.orders = new Set(); setInterval(() => window.orders.add([...document.querySelectorAll("#rows tr td.task a")].map((it) => it.textContent).join()), 50); });
  await page.waitForTimeout(6000);
  const orders = await page.evaluate(() => [...window.orders]);
  equal(orders.length, 1, `orders: ${orders.join(" | ")}`);
  const said = await page.evaluate(() => window.said);
  assert(said.length <= 1, `announced: ${said.join(" | ")}`);
  await page.finish();
});

test("nothing is wider than the screen, and cards are compact between 600 and 1044 pixels", "trouble", async (scene, browser) => {
  const first = await browser.page(scene);
  await first.locator("#trouble").getByText(/100 × shop::image/).waitFor();
  const { jobs } = await (await scene.api("jobs?state=parked&limit=1")).json();
  await first.finish();
  for (const scheme of ["light", "dark"]) for (const width of [320, 600, 768, 901, 960, 1044, 1045, 1440]) {
    const page = await browser.page(scene, { scheme, width });
    await page.locator("#trouble").getByText(/100 × shop::image/).waitFor();
    await page.locator("#trouble").getByText(/1 late/).waitFor();
    for (const [name, hash, wanted] of [["tasks", "#/tasks", "#rows tr"], ["jobs", "#/jobs?state=parked", "#jobs tbody tr"], ["hung", "#/tasks/hung", "#h-history"], ["timeline", "#/timeline", "#timeline tbody tr"], ["job", "#/jobs/" + jobs[0].id, "#attempts tbody tr"]]) {
      await page.evaluate((hash) => { location.hash = hash; }, hash);
      await page.locator(wanted).first().waitFor();
      await page.waitForTimeout(100);
      const where = `${name} ${scheme} ${width}`;
      if ([320, 768, 960, 1440].includes(width)) await page.screenshot({ path: `${shots}trouble-${name}-${scheme}-${width}.png`, fullPage: name !== "jobs" });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert(overflow <= 0, `${where}: ${overflow} wider than the screen`);
      const poor = await page.evaluate(poorTexts);
      assert(!poor.length, `${where}: contrast ${poor.join("; ")}`);
      if (name === "tasks" && width >= 600 && width <= 1044) {
        const height = await page.evaluate(() => document.getElementById("tasks").offsetHeight / document.querySelectorAll("#rows tr").length);
        assert(height < 130, `${where}: ${height} pixels for a task`);
      }
    }
    await page.finish();
  }
});

const nginx = spawnSync("nginx", ["-v"]).status === 0 && spawnSync("openssl", ["version"]).status === 0;
if (!nginx) console.log("skipped: a proxy in front, because there is no nginx or no openssl");
else test("behind nginx, below a prefix and with TLS, all buttons work", "proxied", async (scene) => {
  const folder = mkdtempSync(join(tmpdir(), "dashboard-nginx-")), file = (name) => join(folder, name);
  const guide = readFileSync(new URL("../../docs/proxy.md", import.meta.url), "utf8");
  const recipe = /```nginx\n(.*?)```/s.exec(guide)[1];
  assert(recipe.includes("127.0.0.1:9095"), "the recipe has the address of the guide");
  const port = await new Promise((done) => { const server = createServer().listen(0, "127.0.0.1", () => { const { port } = server.address(); server.close(() => done(port)); }); });
  equal(spawnSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", file("key.pem"), "-out", file("cert.pem")]).status, 0, "a certificate");
  writeFileSync(file("nginx.conf"), `daemon off; pid ${file("pid")}; error_log ${file("error.log")}; events {}
    http { access_log off; client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder}; uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
    server { listen 127.0.0.1:${port} ssl; ssl_certificate ${file("cert.pem")}; ssl_certificate_key ${file("key.pem")};
    ${recipe.replace("127.0.0.1:9095", new URL(scene.page).host)} } }`);
  const proxy = spawn("nginx", ["-c", file("nginx.conf"), "-e", file("error.log")], { stdio: "ignore" });
  const browser = await Browser.open(["--ignore-certificate-errors"]);
  try {
    const origin = `https://localhost:${port}`, link = `${origin}/ops/#token=${token}`;
    for (let tries = 0; !existsSync(file("pid")) && tries < 100; tries += 1) await new Promise((done) => setTimeout(done, 50));
    const page = await browser.page(scene, { link, origin });
    await state(page, "live");
    await page.row("import").getByRole("button", { name: "Run now: import" }).click();
    await page.getByText("import: asked to run").waitFor();
    await page.row("import").getByText(/✔ ok/).waitFor();
    await page.row("import").getByRole("button", { name: "Pause…: import" }).click();
    await page.keyboard.press("Enter");
    await page.row("import").getByRole("button", { name: "Resume: import" }).click();
    await page.row("import").getByText("waiting").waitFor();
    const ticks = () => page.row("tick").locator("svg").getAttribute("aria-label");
    const before = await ticks();
    await page.waitForFunction((before) => [...document.querySelectorAll("#rows svg")].every((it) => it.getAttribute("aria-label") !== before), before);
    await page.getByRole("link", { name: "import", exact: true }).click();
    await page.getByRole("button", { name: "Reschedule…" }).click();
    await page.fill("#rule-text", "90m");
    await page.locator("#rule-preview").getByText("every 1h 30m").waitFor();
    await page.locator("#rule-ok").click();
    await page.locator("#task").getByText("every 1h 30m").first().waitFor();
    const links = await page.evaluate(async (token) => (await (await fetch("/ops/actuator", { headers: { Authorization: "Bearer " + token } })).json())._links, token);
    equal(links.health.href, `${origin}/ops/actuator/health`, "links have the prefix");
    equal(await page.evaluate(async (token) => (await fetch("/ops/actuator/scheduledtasks", { headers: { Authorization: "Bearer " + token } })).status, token), 200, "the actuator");
    await page.finish();
  } finally {
    await browser.close();
    proxy.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("axe finds nothing, in both colours and at three widths", "trouble", async (scene, browser) => {
  const source = readFileSync(new URL("./node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  const rules = JSON.stringify(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]);
  const run = `axe.run(document, { runOnly: ${rules} }).then((found) => JSON.stringify(found.violations.map((it) => [it.id, it.nodes[0].html.slice(0, 160)].join(": "))))`;
  const page = await browser.page(scene);
  await page.locator("#trouble").getByText(/100 × shop::image/).waitFor();
  await page.locator("#trouble").getByText(/1 hung/).waitFor();
  const { jobs } = await (await scene.api("jobs?state=parked&limit=1")).json();
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: source });
  const check = async (where) => {
    for (const colorScheme of ["light", "dark"]) for (const width of [320, 768, 1440]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 800 });
      const { result } = await session.send("Runtime.evaluate", { expression: run, awaitPromise: true, returnByValue: true });
      assert(result.value === "[]", `${where} ${colorScheme} ${width}: ${result.value}`);
    }
  };
  for (const hash of ["#/tasks/hung", "#/tasks", "#/timeline", "#/jobs?state=parked", "#/queues", "#/nodes", "#/actions", "#/no/such", "#/jobs/" + jobs[0].id]) {
    await page.evaluate((hash) => { location.hash = hash; }, hash);
    await page.waitForTimeout(500);
    await check(hash);
  }
  await page.getByRole("button", { name: "Edit…" }).click();
  await check("the dialog of a payload");
  await page.finish();
});

test("hostile texts are only text", "hostile", async (scene, browser) => {
  const page = await browser.page(scene, { width: 320 });
  await page.getByText("<script>window.pwned=1</script>").first().waitFor();
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert(await overflow() <= 0, `the list is ${await overflow()} wider than the screen`);
  await page.locator("#rows").getByRole("link", { name: /odd \[name\]/ }).click();
  await page.locator("#runs pre").first().waitFor();
  assert(await overflow() <= 0, `the task is ${await overflow()} wider than the screen`);
  equal(await page.evaluate(() => window.pwned), undefined, "pwned");
  const error = await page.locator("#runs pre").first().textContent();
  assert(error.includes("[U+202E]desrever") && !error.includes("\u202e"), "what would turn the text around is shown by its number");
  await page.screenshot({ path: shots + "hostile.png" });
  // Numbers and times stay whole beside an error without a blank.
  await page.setViewportSize({ width: 1280, height: 800 });
  const broken = await page.evaluate(() => [...document.querySelectorAll("#runs td.whole")].filter((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect().height > 1.8 * parseFloat(getComputedStyle(cell).lineHeight);
  }).map((cell) => cell.textContent));
  equal(broken.join(" | "), "", "cells that are broken");
  assert(await page.locator("#runs td.whole").count() >= 6, "cells that could be");
  // A script that somebody brings into the page does not run.
  await page.evaluate(() => { const script = document.createElement("script"); script.textContent = "window.pwned = 1"; document.body.append(script); });
  equal(await page.evaluate(() => window.pwned), undefined, "pwned by a script");
  await page.finish(/policy: script-src|Content Security Policy/);
});

// Runs in the page: the texts whose contrast is too small.
const poorTexts = () => {
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map((it) => { const c = it / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
  const back = (node) => { for (let it = node; it; it = it.parentElement) { const colour = parse(getComputedStyle(it).backgroundColor); if (colour.length === 3 || colour[3] === 1) return colour; } return [255, 255, 255]; };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    if (![...node.childNodes].some((it) => it.nodeType === 3 && it.textContent.trim()) || !node.checkVisibility() || node.closest("svg, script, style, noscript")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(back(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.push(`${contrast.toFixed(2)}: ${node.textContent.slice(0, 40)}`);
  }
  return found;
};

const viewerOf = (scene) => ({ link: scene.page + "#token=viewer-0123456789ab" });
const section = async (page, name) => { await page.locator("#sections").getByRole("link", { name: new RegExp("^" + name) }).click(); await page.getByRole("heading", { name, exact: true }).waitFor(); };
const parked = async (scene) => { for (;;) { const { jobs } = await (await scene.api("jobs?state=parked")).json(); if (jobs.length) return jobs[0].id; await new Promise((done) => setTimeout(done, 50)); } };

test("a parked job is found with its error and its payload, and retried by hand", "jobs", async (scene, browser) => {
  const id = await parked(scene);
  const page = await browser.page(scene);
  await section(page, "Jobs");
  await page.locator("#jobs").getByText("the mailbox <b>full</b> is full").waitFor();
  equal(await page.locator("#state-parked").getAttribute("aria-pressed"), "true", "what needs a look comes first");
  await page.locator("#jobs").getByRole("link", { name: new RegExp("^Job " + id) }).click();
  await page.locator("#payload").getByText("DE02 1203").waitFor();
  await page.getByText("letter-17").waitFor();
  await page.getByRole("button", { name: "Retry job" }).click();
  await page.getByText("2 of 2").waitFor();
  await page.locator(".title .status.is-bad").waitFor();
  await page.locator("#attempts tbody tr").nth(1).waitFor();
  const attempts = await page.locator("#attempts tbody tr").allTextContents();
  equal(attempts.length, 2, "attempts");
  attempts.forEach((text, index) => { for (const part of ["#" + (index + 1), " +0", "failed", "web-1", "the mailbox <b>full</b> is full"]) assert(text.includes(part), `${part} in ${text}`); });
  await page.getByRole("button", { name: "Delete job" }).click();
  equal(await page.evaluate(() => document.activeElement.id), "sure-cancel", "the focus is on what does no harm");
  await page.locator("#sure-ok").click();
  await page.getByText("No job is parked.").waitFor();
  const { actions } = await (await scene.api("actions?task=shop%3A%3Amail")).json();
  equal(actions.map((it) => it.action).join(), "delete,retry", "actions");
  equal(actions[0].job, id, "the job of an action");
  await page.finish();
});

test("a parked job gets another payload, and not if it was claimed since", "jobs", async (scene, browser) => {
  const id = await parked(scene);
  const page = await browser.page(scene, { link: scene.page + "#token=" + token });
  await page.evaluate((id) => { location.hash = "#/jobs/" + id; }, id);
  await page.getByRole("button", { name: "Edit…" }).click();
  equal(await page.evaluate(() => document.activeElement.id), "edit-text", "focus");
  equal(JSON.parse(await page.inputValue("#edit-text")).to, "full", "the payload that it has");
  await page.fill("#edit-text", '{ "to": "ada", ');
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("#edit-fault").getByText(/This is no JSON: /).waitFor();
  assert(await page.locator("#edit").isVisible(), "the dialog stays");
  await page.fill("#edit-text", '{ "to": "ada" }');
  await page.waitForFunction(() => !document.getElementById("edit-fault").textContent);
  await page.screenshot({ path: shots + "edit.png" });
  // Somebody else lets it run meanwhile.
  await scene.api(`jobs/${id}/retry`, { method: "POST", headers: { "Content-Type": "application/json" } });
  for (;;) { const job = await (await scene.api("jobs/" + id)).json(); if (job.state === "parked" && job.attempt === 2) break; await page.waitForTimeout(50); }
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("#edit-fault").getByText(/✖ .*changed|✖ .*claimed|✖ .*another/).waitFor();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByText("2 of 2").waitFor();
  await page.getByRole("button", { name: "Edit…" }).click();
  await page.fill("#edit-text", '{ "to": "ada" }');
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("has another payload").waitFor();
  await page.locator("#payload").getByText("ada").waitFor();
  await page.getByRole("button", { name: "Retry job" }).click();
  await page.locator(".title .status.is-good").getByText("done").waitFor();
  equal(await page.getByRole("button", { name: "Edit…" }).count(), 0, "one that has ended keeps its payload");
  const { actions } = await (await scene.api("actions?task=shop%3A%3Amail")).json();
  equal(actions.map((it) => it.action).join(), "retry,edit,retry", "actions");
  await page.finish(/409/);
});

test("jobs come by state and in pages, and one that runs is asked to stop", "jobs", async (scene, browser) => {
  await parked(scene);
  const page = await browser.page(scene);
  await section(page, "Jobs");
  await page.locator("#state-ready").click();
  await page.waitForFunction(() => document.querySelectorAll("#jobs tbody tr").length === 50);
  await page.getByRole("button", { name: "Next page" }).click();
  await page.waitForFunction(() => document.querySelectorAll("#jobs tbody tr").length === 10);
  await page.getByRole("button", { name: "First page" }).click();
  await page.locator("#state-running").click();
  await page.locator("#jobs").getByRole("button", { name: "Ask to stop" }).click();
  await page.getByText("No job is running.").waitFor();
  await page.locator("#state-cancelled").click();
  await page.locator("#jobs").getByText("shop::mail", { exact: false }).first().waitFor();
  await page.locator("#state-done").focus();
  await page.waitForTimeout(2500);
  equal(await page.evaluate(() => document.activeElement.id), "state-done", "an update leaves the focus");
  await page.finish();
});

test("a viewer sees jobs without payloads and without buttons", "jobs", async (scene, browser) => {
  const id = await parked(scene);
  const fresh = await Browser.open();
  const page = await fresh.page(scene, viewerOf(scene));
  await section(page, "Jobs");
  await page.locator("#jobs").getByText("is full").waitFor();
  equal(await page.locator("#jobs").getByRole("button").count(), 0, "buttons of the list");
  await page.locator("#jobs").getByRole("link", { name: new RegExp("^Job " + id) }).click();
  await page.getByText("hidden from you").waitFor();
  assert(!(await page.content()).includes("DE02"), "the payload");
  equal(await page.locator("#store").getByRole("button").count(), 0, "buttons of a job");
  await page.finish();
  await fresh.close();
});

test("queues have their depths, and nodes their leases and jobs", "jobs", async (scene, browser) => {
  await parked(scene);
  const page = await browser.page(scene);
  await section(page, "Queues");
  const row = page.locator("#queues tbody tr").filter({ hasText: "letters" });
  equal(await row.locator("td[data-label=Later]").textContent(), "60", "later");
  await section(page, "Nodes");
  const node = page.locator("#nodes tbody tr");
  await node.getByText("web-1").waitFor();
  await node.getByText("takes jobs").waitFor();
  await node.getByText("1 of ").waitFor();
  await node.getByText("1.2.3").waitFor();
  await node.getByRole("link", { name: /^Job .* of shop::mail/ }).click();
  await page.locator(".title .status").getByText("running at web-1").waitFor();
  await page.getByRole("button", { name: "Ask to stop job" }).click();
  await page.locator(".title .status").getByText(/asked to stop at web-1|done/).waitFor();
  await page.finish();
});

test("a process is paused and goes on, and a lost one is listed with who found it", "trouble", async (scene, browser) => {
  const page = await browser.page(scene);
  await section(page, "Nodes");
  const ended = page.locator("#ended");
  await ended.getByText(/web-2 .*: lost .*, found by web-1; it held 0 jobs/).waitFor();
  const row = page.locator("#nodes tbody tr");
  await row.getByText("takes jobs").waitFor();
  await row.getByText("1 task").click();
  await row.getByText("shop::image").waitFor();
  await page.getByRole("button", { name: "Pause…: node web-1" }).click();
  await page.getByRole("heading", { name: "Pause node web-1" }).waitFor();
  await page.locator("#reason").fill("a disk is replaced");
  await page.locator("#dialog").getByRole("button", { name: "Pause" }).click();
  await row.getByText("paused by ops: “a disk is replaced”").waitFor();
  await page.locator("#trouble").getByText(/node paused: web-1 by ops/).waitFor();
  await page.getByRole("button", { name: "Resume: node web-1" }).click();
  await row.getByText("takes jobs").waitFor();
  await section(page, "Actions");
  const action = page.locator("#actions tbody tr").first();
  equal(await action.locator("td.task").textContent(), "node web-1", "the process of an action");
  assert(!/\b1: /.test(await action.textContent()), await action.textContent());
  await page.finish();
});

test("a run that does not react to a stop says so, and the main button is no Run now", "deaf", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.locator("#trouble").getByRole("link", { name: /1 hung: deaf, running for/ }).click({ timeout: 30000 });
  await page.getByRole("heading", { name: "Fire times; none starts a run before this one ends" }).waitFor();
  const isMain = (id) => page.locator(id).evaluate((it) => it.classList.contains("primary"));
  equal(await isMain("#do-run"), false, "Run now, which can only be refused");
  equal(await isMain("#do-cancel"), true, "the stop");
  await page.getByRole("button", { name: "Ask run to stop" }).click();
  const note = page.locator("#task .note.bad").filter({ hasText: "A run hangs" });
  await note.getByText(/ops asked it to stop/).waitFor();
  await note.getByText(/ops asked it to stop \d+ s ago; it does not react\./).waitFor({ timeout: 30000 });
  await scene.tell("mend");
  await note.waitFor({ state: "hidden" });
  await page.finish();
});

test("the key / leads to the search of each section", "jobs", async (scene, browser) => {
  await parked(scene);
  const page = await browser.page(scene);
  const focused = () => page.evaluate(() => document.activeElement.id);
  await page.keyboard.press("/");
  equal(await focused(), "search", "in the list of tasks");
  await page.keyboard.type("a/b");
  equal(await page.inputValue("#search"), "a/b", "in a field it is a letter");
  await section(page, "Jobs");
  await page.locator("#job-error").waitFor();
  await page.keyboard.press("/");
  equal(await focused(), "job-error", "in the list of jobs");
  equal(await page.inputValue("#job-error"), "", "the key itself");
  await section(page, "Queues");
  const before = await focused();
  await page.keyboard.press("/");
  equal(await focused(), before, "where there is nothing to search");
  await page.finish();
});

test("paused kinds of jobs and queues are in the bar, and wait without a fault", "jobs", async (scene, browser) => {
  await parked(scene);
  const json = { method: "POST", headers: { "Content-Type": "application/json" } };
  const page = await browser.page(scene);
  await page.row("shop::mail").getByRole("button", { name: "Pause…: shop::mail" }).click();
  await page.fill("#reason", "mail is down");
  await page.keyboard.press("Enter");
  await scene.api("queues/letters/pause", json);
  await scene.api("tasks/shop::mail/partitions/pause", { ...json, body: JSON.stringify({ partition: "acme", reason: "floods" }) });
  const item = (text) => page.locator("#trouble li.wait").getByText(text);
  await item(/1 paused: shop::mail by ops/).waitFor();
  await item(/queue paused: letters by ops/).waitFor({ timeout: 15000 });
  await item(/partition paused: acme of shop::mail by ops/).waitFor();
  await section(page, "Actions");
  await page.getByRole("cell", { name: "acme of shop::mail" }).waitFor();
  await section(page, "Tasks");
  await page.locator("#trouble").getByRole("link", { name: /1 paused/ }).click();
  await page.row("shop::mail").getByText("paused by ops: “mail is down”").waitFor();
  await section(page, "Queues");
  await page.locator("#queues").getByText("‖ paused by ops: “mail is down”").first().waitFor();
  await page.locator("#queues").getByRole("button", { name: "Resume: queue letters" }).click();
  await item(/queue paused/).waitFor({ state: "hidden" });
  await page.finish();
});

test("jobs of a task that no process has are in the bar, with the nearest name", "unknown", async (scene, browser) => {
  const page = await browser.page(scene);
  const item = page.locator("#trouble li.bad").getByRole("link", { name: /no process has shop::maill: 1 job due; nearest name: shop::mail$/ });
  await item.waitFor();
  assert(Number(await page.locator("#sections a[data-view=queues] .count").textContent()) >= 1, "the count in the navigation");
  await item.click();
  const job = page.locator("#jobs tbody tr");
  await job.getByText("maill").waitFor();
  equal(await job.count(), 1, "jobs");
  await job.getByRole("button", { name: /^Cancel/ }).click();
  await page.locator("#trouble").getByText(/no process has/).waitFor({ state: "hidden", timeout: 15000 });
  await page.finish();
});

test("an outage with attempts left, and a job that hangs elsewhere, are in the bar until they are over", "outage", async (scene, browser) => {
  const page = await browser.page(scene);
  const item = (name) => page.locator("#trouble li.bad").getByRole("link", { name });
  await item(/50 jobs wait to run again$/).waitFor({ timeout: 15000 });
  await item(/job of shop::crawl: runs for 20 min.* in queue default$/).waitFor();
  equal(await page.title(), "(51) test shop · scheduler", "50 jobs and the one that hangs");
  equal(await page.locator("#sections a[data-view=jobs] .count").textContent(), "51", "the count in the navigation");
  await section(page, "Queues");
  const row = page.locator("#queues tbody tr").filter({ hasText: "shop::charge" });
  equal(await row.locator("td[data-label=Retrying]").textContent(), "50", "retrying");
  await item(/50 × shop::charge: POST \/charges\/\*: Service Unavailable$/).click();
  await page.locator("#jobs tbody tr").first().getByText(/Service Unavailable/).waitFor();
  const post = (path, body) => scene.api(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  await scene.tell("mend");
  await post("queues/default/pause", {});
  await post("jobs:retry", { matching: { state: "ready", task: "shop::charge" } });
  await page.locator("#trouble").getByText(/default by ops: 50 jobs wait, 50 of them with an error$/).waitFor({ timeout: 15000 });
  await item(/50 jobs wait to run again$/).waitFor();
  await post("queues/default/resume", {});
  await page.locator("#trouble").getByText(/wait to run again/).waitFor({ state: "hidden", timeout: 15000 });
  await page.finish();
});

test("a run that is long among those of the cluster is one fault, and marks its row", "jobs", async (scene, browser) => {
  await parked(scene);
  const page = await browser.page(scene, { rows: false, link: "about:blank" });
  const since = new Date(Date.now() - 1200000).toISOString();
  const change = (path, call) => page.route("**/api/v1/" + path, async (route) => { const response = await route.fetch(), json = await response.json(); call(json); await route.fulfill({ response, json }); });
  await page.route("**/api/v1/events", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: "{}" }));
  await change("tasks", ({ tasks }) => Object.assign(tasks.find((it) => it.name === "shop::mail"), { running: 1, runningSince: since }));
  let isLong = false;
  await change("queues", ({ queues }) => { for (const queue of queues) for (const task of queue.tasks) Object.assign(task, { hasLongRun: isLong && queue.queue === "default", oldestRunningMs: 1200000 }); });
  await page.goto(scene.link);
  await page.row("shop::mail").locator(".status").getByText("running for 20 min").waitFor();
  await page.locator("#trouble").getByText("1 job parked").waitFor();
  equal(await page.locator("#trouble").getByText(/job of|hung/).count(), 0, "the store does not find it long");
  isLong = true;
  await page.locator("#trouble li.bad").getByText(/job of shop::mail: runs for 20 min in queue default/).waitFor({ timeout: 15000 });
  await page.row("shop::mail").locator(".status.is-bad").getByText(/hung, running/).waitFor();
  equal(await page.locator("#trouble").getByText("hung").count(), 0, "it stands once");
  assert((await page.title()).startsWith("(2) "), await page.title());
  await page.finish(/503|Failed to load/);
});

test("a store that is away is said, and what was there stays", "jobs", async (scene, browser) => {
  await parked(scene);
  const page = await browser.page(scene);
  await section(page, "Queues");
  await page.locator("#queues").waitFor();
  const detail = JSON.stringify({ detail: "the store does not answer: connection refused" });
  await page.route("**/api/v1/queues", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: detail }));
  await page.locator("#store-failure").getByText("connection refused. Trying again.").waitFor();
  assert(await page.locator("#queues").isVisible(), "what was there");
  await page.unroute("**/api/v1/queues");
  await page.locator("#store-failure").waitFor({ state: "hidden" });
  await section(page, "Tasks");
  await page.row("import").waitFor();
  await page.finish(/503/);
});

test("a durable task is paused, run and rescheduled for all processes", "jobs", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.row("nightly").getByText("durable").waitFor();
  await page.row("nightly").getByText("03:00, every day").waitFor();
  await page.row("nightly").getByRole("button", { name: "Pause…: nightly" }).click();
  await page.fill("#reason", "inventory");
  await page.keyboard.press("Enter");
  await page.row("nightly").getByText("paused by ops: “inventory”").waitFor();
  await page.row("nightly").getByRole("button", { name: "Run now: nightly" }).click();
  await page.row("nightly").getByText(/✔ ok/).waitFor();
  await page.row("nightly").getByRole("button", { name: "Resume: nightly" }).click();
  await page.row("nightly").getByText("waiting").waitFor();
  await page.getByRole("link", { name: "nightly", exact: true }).click();
  await page.getByRole("button", { name: "Reschedule…" }).click();
  equal(await page.inputValue("#rule-text"), "0 0 3 * * *", "the rule that it has");
  await page.locator("#rule-preview li").nth(4).waitFor();
  await page.fill("#rule-text", "0 0 25 * * *");
  await page.locator("#rule-preview").getByText("hour `25` is out of range 0-23").waitFor();
  assert(await page.locator("#rule-ok").isDisabled(), "what is faulty cannot be applied");
  await page.fill("#rule-text", "0 30 4 * * SUN");
  await page.locator("#rule-preview").getByText("04:30, Sunday").waitFor();
  await page.screenshot({ path: shots + "reschedule.png" });
  await page.locator("#rule-ok").click();
  await page.locator("#task").getByText("overridden").waitFor();
  await page.locator("#task").getByText("04:30, Sunday").first().waitFor();
  await page.getByRole("button", { name: "Reschedule…" }).click();
  await page.getByRole("button", { name: "Reset to the code" }).click();
  await page.locator("#task").getByText("03:00, every day").first().waitFor();
  await page.finish(/400/);
});

test("a task in memory is rescheduled, with another kind of rule", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await page.getByRole("link", { name: "import", exact: true }).click();
  await page.getByRole("button", { name: "Reschedule…" }).click();
  equal(await page.inputValue("#rule-text"), "3600s", "the rule that it has");
  await page.fill("#rule-text", "1000");
  await page.locator("#rule-preview").getByText("`1000` has no unit").waitFor();
  const times = ["00", "30"].map((second) => ({ at: `2026-03-30T07:00:${second}Z` }));
  await page.route("**/preview?**", (route) => route.fulfill({ json: { words: "every 30s", rule: "every 30s", zone: "Europe/Berlin", times } }));
  await page.fill("#rule-text", "30s");
  await page.locator("#rule-preview").getByText("09:00:30 +02:00").waitFor();
  await page.locator("#rule-preview").getByText("09:00:00 +02:00").waitFor();
  await page.unroute("**/preview?**");
  await page.fill("#rule-text", "90m");
  await page.locator("#rule-preview").getByText("every 1h 30m").waitFor();
  await page.keyboard.press("Enter");
  await page.locator("#task").getByText("every 1h 30m").first().waitFor();
  await page.locator("#task").getByText(/reschedule.*every 1h.*→ every 1h 30m/).waitFor();
  await page.finish(/400/);
});

test("a stream that comes again goes on where it was", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  await state(page, "live");
  const hide = (hidden) => page.evaluate((hidden) => { Object.defineProperty(document, "hidden", { value: hidden, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); }, hidden);
  await page.waitForFunction(() => [...document.querySelectorAll("#rows tr")].some((row) => row.textContent.startsWith("tick") && /[0-9] ok/.test(row.querySelector("svg").getAttribute("aria-label"))));
  await page.waitForTimeout(500);
  await hide(true);
  await scene.api("tasks/import/pause", { method: "POST", headers: { "Content-Type": "application/json" } });
  await page.waitForTimeout(600);
  const asked = page.waitForRequest((request) => request.url().endsWith("/events"));
  await hide(false);
  assert(/^[0-9a-f]+-1-[0-9]+$/.test((await asked).headers()["last-event-id"]), "it says what it has seen");
  await page.row("import").getByText("paused").first().waitFor();
  await page.finish();
});

test("a thousand tasks are shown soon", "many", async (scene, browser) => {
  const page = await browser.page(scene);
  await state(page, "live");
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  equal(await page.locator("#rows tr").count(), 100, "rows");
  await page.getByRole("button", { name: "Show 100 more of 1000" }).click();
  equal(await page.locator("#rows tr").count(), 200, "rows");
  await page.fill("#search", "task_0777");
  equal(await page.locator("#rows tr").count(), 1, "found");
  const load = await page.evaluate(() => new Promise((done) => { const start = performance.now(); requestAnimationFrame(() => done(performance.now() - start)); }));
  console.log(`    first paint after ${Math.round(paint)} ms; a frame takes ${load.toFixed(1)} ms`);
  await page.finish();
});

test("everything has a name and a role", "basic", async (scene, browser) => {
  for (const width of [1280, 320]) {
    const page = await browser.page(scene, { width });
    await page.row("import").getByRole("checkbox").check();
    const session = await page.context().newCDPSession(page);
    const tree = async () => (await session.send("Accessibility.getFullAXTree")).nodes.filter((node) => !node.ignored);
    const check = (nodes, where) => {
      const role = (node) => node.role.value, name = (node) => (node.name ? node.name.value : "").trim();
      const nameless = nodes.filter((node) => ["button", "link", "textbox", "searchbox", "combobox", "checkbox", "table", "image", "columnheader", "dialog", "navigation", "article", "region", "search"].includes(role(node)) && !name(node) && role(node) !== "search");
      assert(!nameless.length, `${where}: without a name: ${nameless.map(role)}`);
      for (const wanted of ["banner", "main", "navigation", "heading", "table", "columnheader"]) assert(nodes.some((node) => role(node) === wanted), `${where} ${width}: no ${wanted}`);
      assert(!nodes.some((node) => role(node) === "LayoutTable"), `${where}: a table for layout`);
      return nodes.map(role);
    };
    const roles = check(await tree(), "the list");
    for (const wanted of ["search", "checkbox", "cell", "row"]) assert(roles.includes(wanted), `the list ${width}: no ${wanted}`);
    await page.getByRole("link", { name: "tick", exact: true }).click();
    await page.locator("#runs").waitFor();
    check(await tree(), "a task");
    await page.finish();
  }
});

test("the sections of a store have names and roles, and read well in both colours and at 320 pixels", "jobs", async (scene, browser) => {
  const id = await parked(scene);
  for (const scheme of ["light", "dark"]) for (const width of [1280, 320]) for (const [name, hash, wanted] of [["jobs", "#/jobs", "#jobs"], ["job", "#/jobs/" + id, "#payload"], ["queues", "#/queues", "#queues"], ["nodes", "#/nodes", "#nodes"]]) {
    const page = await browser.page(scene, { scheme, width });
    await state(page, "live");
    await page.evaluate((hash) => { location.hash = hash; }, hash);
    await page.locator(wanted).waitFor();
    const where = `${name} ${scheme} ${width}`;
    await page.screenshot({ path: `${shots}${name}-${scheme}-${width}.png`, fullPage: true });
    assert(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth) <= 0, `${where}: wider than the screen`);
    const poor = await page.evaluate(poorTexts);
    assert(!poor.length, `${where}: contrast ${poor.join("; ")}`);
    const session = await page.context().newCDPSession(page);
    const nodes = (await session.send("Accessibility.getFullAXTree")).nodes.filter((node) => !node.ignored);
    const role = (node) => node.role.value, text = (node) => (node.name ? node.name.value : "").trim();
    const nameless = nodes.filter((node) => ["button", "link", "textbox", "combobox", "table", "columnheader", "region", "group"].includes(role(node)) && !text(node));
    assert(!nameless.length, `${where}: without a name: ${nameless.map(role)}`);
    assert(!nodes.some((node) => role(node) === "LayoutTable"), `${where}: a table for layout`);
    for (const must of ["navigation", "heading", ...(name === "job" ? [] : ["table", "columnheader", "row", "cell"])]) assert(nodes.some((node) => role(node) === must), `${where}: no ${must}`);
    await page.finish();
  }
});

test("a parked job is retried by keyboard alone", "jobs", async (scene, browser) => {
  await parked(scene);
  const page = await browser.page(scene);
  const reach = async (wanted) => { for (let step = 0; step < 60; step += 1) { await page.keyboard.press("Tab"); const found = await page.evaluate(() => { const it = document.activeElement; return it.getAttribute("aria-label") || it.textContent; }); if (wanted.test(found)) return; } throw new Error(`${wanted} is not reached`); };
  await reach(/^Jobs/);
  await page.keyboard.press("Enter");
  await page.locator("#jobs").waitFor();
  await reach(/^Retry job/);
  await page.keyboard.press("Enter");
  await page.locator("#jobs").getByText("2 of 2").waitFor();
  await page.finish();
});

test("everything can be done by keyboard", "basic", async (scene, browser) => {
  const page = await browser.page(scene);
  const focused = () => page.evaluate(() => { const it = document.activeElement; return it.getAttribute("aria-label") || it.id || it.textContent; });
  const reach = async (wanted) => { for (let step = 0; step < 60; step += 1) { await page.keyboard.press("Tab"); if (await focused() === wanted) { const seen = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle); equal(seen, "solid", `focus on ${wanted}`); return; } } throw new Error(`${wanted} is not reached; at ${await focused()}`); };
  await page.keyboard.press("Tab");
  assert((await focused()).includes("Skip"), "the first stop skips to the content");
  await page.keyboard.press("Enter");
  equal(await focused(), "main", "where it leads");
  await reach("search");
  await page.keyboard.type("import");
  await reach("Pause…: import");
  await page.keyboard.press("Enter");
  await page.keyboard.type("by keyboard");
  await page.keyboard.press("Enter");
  await page.row("import").getByText("by keyboard").waitFor();
  equal(await focused(), "Resume: import", "focus stays");
  await page.keyboard.press("Enter");
  await page.row("import").getByText("waiting").waitFor();
  await page.finish();
});

test("it reads well in both colours and at 320 pixels", "basic", async (scene, browser) => {
  await scene.api("tasks/export/run", { method: "POST", headers: { "Content-Type": "application/json" } });
  await scene.api("tasks/import/pause", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ note: "migration" }) });
  await scene.api("tasks/slow/run", { method: "POST", headers: { "Content-Type": "application/json" } });
  for (const scheme of ["light", "dark"]) for (const width of [1280, 320]) for (const view of ["list", "task"]) {
    const page = await browser.page(scene, { scheme, width });
    await state(page, "live");
    if (view === "task") { await page.getByRole("link", { name: "export", exact: true }).click(); await page.locator("#runs").waitFor(); }
    await page.waitForTimeout(400);
    await page.screenshot({ path: `${shots}${view}-${scheme}-${width}.png`, fullPage: true });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(overflow <= 0, `${view} ${scheme} ${width}: ${overflow} wider than the screen`);
    const poor = await page.evaluate(poorTexts);
    assert(!poor.length, `${view} ${scheme} ${width}: contrast ${poor.join("; ")}`);
    await page.finish();
  }
});

const wanted = process.argv.slice(2);
const chosen = cases.filter(({ name }) => !wanted.length || wanted.some((part) => name.includes(part)));
let failed = 0;
const browser = await Browser.open();
for (const { name, scene: what, run } of chosen) {
  const scene = await begin(...what.split(" "));
  try { await run(scene, browser); console.log(`ok      ${name}`); }
  catch (error) { failed += 1; console.log(`FAILED  ${name}\n${error.message.replace(/^/gm, "    ")}`); }
  for (const page of browser.context.pages().slice(1)) await page.close();
  await scene.end();
}
await browser.close();
console.log(`${chosen.length - failed} of ${chosen.length} passed`);
process.exit(failed ? 1 : 0);
