/**
 * A page in a separate Chromium, whose memory equals that of a user's tab. Pages of Playwright use more: Chromium keeps the
 * bodies of all responses (up to 200 MB) for a client that follows a page's network, as Playwright does.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { CHROMIUM, CHROMIUM_ARGUMENTS } from '../../test/console/browser.ts';

const LOOK_PERIOD_MS = 200;

export class BareTab implements AsyncDisposable {
  readonly #browser: ChildProcess;
  readonly #folder: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  private constructor(browser: ChildProcess, folder: string, socket: WebSocket) {
    this.#browser = browser;
    this.#folder = folder;
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#answered(String(data)));
  }

  static async open(url: string): Promise<BareTab> {
    const folder = mkdtempSync(join(tmpdir(), 'keelson-bare-tab-'));
    const size = '--window-size=1280,800';
    const own = ['--headless', '--ignore-certificate-errors', size, '--remote-debugging-port=0'];
    const args = [...CHROMIUM_ARGUMENTS, ...own, `--user-data-dir=${folder}`, url];
    const browser = spawn(CHROMIUM, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const socket = new WebSocket(await pageAddress(await portOf(browser)));
    await once(socket, 'open');
    return new BareTab(browser, folder, socket);
  }

  /** Waits until the expression is true in the page. */
  async until(expression: string): Promise<void> {
    while ((await this.evaluate(expression)) !== true) await sleep(LOOK_PERIOD_MS);
  }

  /** The value of an expression in the page. */
  async evaluate(expression: string): Promise<unknown> {
    const answer = (await this.#send('Runtime.evaluate', { expression, returnByValue: true })) as {
      readonly result: { readonly value?: unknown };
    };
    return answer.result.value;
  }

  /** Bytes of the page's process, with shared pages in proportion, and of JavaScript's objects. */
  async memory({
    collects,
  }: {
    readonly collects: boolean;
  }): Promise<{ readonly process: number; readonly heap: number }> {
    if (collects) await this.#send('HeapProfiler.collectGarbage');
    const { usedSize } = (await this.#send('Runtime.getHeapUsage')) as { readonly usedSize: number };
    return { process: Math.max(...rendererIds(this.#browser.pid!).map(proportionalBytes)), heap: usedSize };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    const ended = once(this.#browser, 'exit');
    this.#browser.kill();
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #send(method: string, params: object = {}): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(++this.#lastId, answer);
    this.#socket.send(JSON.stringify({ id: this.#lastId, method, params }));
    return answer.promise;
  }

  #answered(text: string): void {
    const { id, result, error } = JSON.parse(text) as Answer;
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (id !== undefined) this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error.message));
  }
}

/** A response of the DevTools protocol, or an event when it has no id. */
interface Answer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** The port of the DevTools protocol, which Chromium prints when it listens. */
async function portOf({ stderr }: ChildProcess): Promise<string> {
  let written = '';
  for await (const piece of stderr!.iterator({ destroyOnReturn: false })) {
    written += String(piece);
    const port = /listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(written)?.[1];
    if (port === undefined) continue;
    stderr!.resume();
    return port;
  }
  throw new Error(`Chromium did not start: ${written}`);
}

async function pageAddress(port: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
    const targets = (await answer.json()) as readonly {
      readonly type: string;
      readonly webSocketDebuggerUrl: string;
    }[];
    const page = targets.find(({ type }) => type === 'page');
    if (page !== undefined) return page.webSocketDebuggerUrl;
    await sleep(LOOK_PERIOD_MS);
  }
}

/** Child processes of the browser that render pages. */
function rendererIds(browser: number): readonly number[] {
  const below = [browser];
  for (const id of below) below.push(...childrenOf(id));
  return below.filter((id) => readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('--type=renderer'));
}

function childrenOf(id: number): readonly number[] {
  return readdirSync(`/proc/${id}/task`)
    .flatMap((task) => readFileSync(`/proc/${id}/task/${task}/children`, 'utf8').split(' '))
    .filter((text) => text !== '')
    .map(Number);
}

function proportionalBytes(id: number): number {
  const text = readFileSync(`/proc/${id}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
}
