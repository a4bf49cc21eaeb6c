// Pictures of the example `dashboard`, for the README. Run by ci/pictures.sh; the argument is the folder for them.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { mkdirSync, statSync } from "node:fs";
import { Browser, assert, begin } from "./scene.mjs";

const BYTES_MAX = 150_000;
const HISTORY_MS = 120_000;
const SIZE = { width: 1280, height: 780 };

// Starts the example; the link is in a line that it prints.
const start = async () => {
  const env = { ...process.env, DASHBOARD: "127.0.0.1:0" };
  const child = spawn(process.env.EXAMPLE, { env, stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of createInterface({ input: child.stderr })) {
    const link = line.match(/^dashboard (http:\S+)/)?.[1];
    if (link) return { child, link, origin: new URL(link).origin };
  }
  throw new Error("the example ended before it printed its link");
};

// Ends the picture below the last row that the window has whole.
const take = async (page, path) => {
  const bottoms = await page.locator("#rows tr").evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().bottom));
  const height = Math.max(...bottoms.filter((bottom) => bottom <= SIZE.height));
  await page.screenshot({ path, clip: { x: 0, y: 0, width: SIZE.width, height } });
  const { size } = statSync(path);
  assert(size < BYTES_MAX, `${path} has ${size} bytes, and at most ${BYTES_MAX} are allowed`);
  console.log(`${path}: ${size} bytes`);
};

const pause = async (page, task, reason) => {
  const row = page.row(task);
  await row.getByRole("button", { name: /^Pause/ }).click();
  await page.fill("#reason", reason);
  await page.keyboard.press("Enter");
  await row.getByText("paused by").waitFor();
};

// An outage: a task that hangs and the one it starves, a hundred parked jobs, a node that died.
const takeOutage = async (browser, scheme, path) => {
  const outage = await begin("trouble");
  const page = await browser.page(outage, { scheme });
  await page.setViewportSize(SIZE);
  for (const text of [/1 hung/, /1 late/, /100 ×/, /node web-2/]) await page.locator("#trouble").getByText(text).waitFor();
  await take(page, path);
  await page.finish();
  await outage.end();
};

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
const program = await start();
const browser = await Browser.open();
try {
  const operator = await browser.page(program);
  await pause(operator, "dashboard::weekly_archive", "the disk is replaced");
  await operator.waitForTimeout(HISTORY_MS);
  for (const scheme of ["light", "dark"]) {
    const page = await browser.page(program, { scheme });
    await page.setViewportSize(SIZE);
    await take(page, `${folder}/dashboard-${scheme}.png`);
    await page.finish();
    await takeOutage(browser, scheme, `${folder}/outage-${scheme}.png`);
  }
} finally {
  await browser.close();
  program.child.kill("SIGTERM");
}
