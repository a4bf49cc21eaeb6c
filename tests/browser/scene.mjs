// A program with a dashboard, and a browser that looks at it.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const program = process.env.PROGRAM;
const executablePath = process.env.CHROMIUM;
export const token = "operator-0123456789";

export const assert = (is, what) => { if (!is) throw new Error(what); };
export const equal = (found, wanted, what) => assert(found === wanted, `${what}: ${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);

export const begin = async (scene, address = "127.0.0.1:0") => {
  const child = spawn(program, [scene, address], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  assert(value && value.startsWith("ready "), `it does not start: ${value}`);
  const link = value.slice(6);
  const page = link.split("#")[0];
  return {
    link, page, origin: new URL(page).origin,
    tell: async (command) => { child.stdin.write(command + "\n"); equal((await lines.next()).value, "done", command); },
    api: async (path, options = {}) => {
      const headers = { Authorization: "Bearer " + token, ...(options.headers || {}) };
      return fetch(page.replace(/\/?$/, "/") + "api/v1/" + path, { ...options, headers });
    },
    signal: (name) => child.kill(name),
    end: () => new Promise((done) => { child.on("exit", done); child.stdin.end(); }),
  };
};

// All that a page must not do.
const watch = (page, origin) => {
  const faults = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) faults.push(`console: ${message.text()}`); });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("request", (request) => { const url = request.url(); if (!url.startsWith(origin + "/") && !url.startsWith("data:")) faults.push(`request: ${url}`); });
  return faults;
};

export class Browser {
  static async open(more = []) {
    const profile = mkdtempSync(join(tmpdir(), "dashboard-browser-"));
    const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", ...more];
    const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args, viewport: { width: 1280, height: 800 } });
    return Object.assign(new Browser(), { context, profile });
  }
  // A page whose faults are collected; `allowed` are those that a case provokes.
  async page(scene, options = {}) {
    const page = await this.context.newPage();
    await page.emulateMedia({ colorScheme: options.scheme || "light", reducedMotion: "reduce" });
    if (options.width) await page.setViewportSize({ width: options.width, height: 700 });
    const faults = watch(page, options.origin || scene.origin);
    await page.addInitScript(() => { window.violations = []; addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective + " " + event.blockedURI)); });
    await page.goto(options.link || scene.link);
    if (options.rows !== false) await page.waitForSelector("#rows tr");
    return Object.assign(page, {
      check: async (allowed = /^$/) => {
        faults.push(...(await page.evaluate(() => window.violations)).map((it) => "policy: " + it));
        const left = faults.filter((fault) => !allowed.test(fault));
        assert(!left.length, left.join("\n"));
      },
      row: (name) => page.locator("#rows tr").filter({ has: page.getByRole("link", { name, exact: true }) }),
      finish: async (allowed) => { await page.check(allowed); await page.close(); },
    });
  }
  async close() { await this.context.close(); rmSync(this.profile, { recursive: true, force: true }); }
}
