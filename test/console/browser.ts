/** A real Chromium for tests of the console, Debian's, and a page of it that trusts the cluster's certificate. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';

export const CHROMIUM = '/usr/bin/chromium';
/** Runs as root, and without the browser's own requests. */
export const CHROMIUM_ARGUMENTS: readonly string[] = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The reason why such tests cannot run here; false when they can. */
export const skipBrowser: string | false = existsSync(CHROMIUM) ? false : `needs ${CHROMIUM}`;

/** A browser with an empty profile. */
export interface TestBrowser extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors that pages logged to the console, and requests to other origins. */
  readonly problems: readonly string[];
}

export async function openBrowser(
  options: { readonly width?: number; readonly height?: number; readonly dark?: boolean } = {},
): Promise<TestBrowser> {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-chromium-'));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: CHROMIUM,
    headless: true,
    ignoreHTTPSErrors: true,
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    colorScheme: options.dark === true ? 'dark' : 'light',
    args: [...CHROMIUM_ARGUMENTS],
  });
  const [page] = context.pages();
  const problems: string[] = [];
  const origins = new Set<string>();
  page!.on('console', (message) => {
    // A network link of the machine was added or removed, and Chromium ended its requests. The page repeats them, or the test
    // fails.
    if (message.text().includes('net::ERR_NETWORK_CHANGED')) return;
    if (message.type() === 'error') problems.push(`${message.text()} ${message.location().url}`.trimEnd());
  });
  page!.on('pageerror', (error) => problems.push(String(error.stack)));
  page!.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol === 'data:' || protocol === 'blob:') return;
    origins.add(origin);
    if (origins.size > 1) problems.push(`request to ${request.url()}`);
  });
  return {
    context,
    page: page!,
    problems,
    async [Symbol.asyncDispose]() {
      await context.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
