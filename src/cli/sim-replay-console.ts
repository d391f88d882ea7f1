/** `keelson sim replay FILE --console`: a run to be looked at in the browser, moved back and forth from its first step to its end. */
import { background } from '../platform/unexpected.ts';
import type { OpenReplay } from '../testing/simulation/open-replay.ts';
import type { Scenario } from '../testing/scenario.ts';
import type { SimPool } from './sim-pool.ts';

interface ReplayToOpen {
  readonly text: string;
  readonly scenario: Scenario;
  /** Prints the link and opens no browser. */
  readonly print: boolean;
}

/** Serves the console until the command is interrupted. */
export async function replayInConsole(pool: SimPool, { text, scenario, print }: ReplayToOpen): Promise<void> {
  const { withPlatform } = await import('./run-once.ts');
  const { openReplay, seedOf } = await import('../testing/simulation/open-replay.ts');
  const { replayFileRoutes } = await import('../testing/simulation/replay-file-route.ts');
  const { createReplayFiles } = await import('./replay-files.ts');
  const seed = seedOf(scenario);
  const interrupted = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.resolve());
  await withPlatform(async ({ clock, log }) => {
    const files = createReplayFiles({ clock, host: '127.0.0.1' });
    const deps = { clock, log, routes: replayFileRoutes(files) };
    const [plain, replay] = await Promise.all([pool.run(text, seed), openReplay(scenario, seed, deps)]);
    await using opened = replay;
    const { outcome, failure } = opened;
    if (plain.failure?.message !== failure?.message || (!('cause' in outcome) && plain.result?.hash !== outcome.hash))
      warn('this run is not the one of keelson sim replay, which tells why');
    line(failure === undefined ? `ok  ${scenario.name} (seed ${seed})` : `FAILED  ${failure.message}`);
    if (opened.serverWasDown) warn('the run left the API server down: it was started again, for the console');
    await printLink(opened, print);
    warn('the link signs in once, within a minute; Enter gives another one, Ctrl+C ends');
    const another = (): void => background(log, 'no further link to the console', printLink(opened, true));
    process.stdin.on('data', another);
    await interrupted.promise;
    process.stdin.off('data', another);
    process.stdin.pause();
    await files.close();
  });
}

async function printLink({ cluster }: OpenReplay, isPrinted: boolean): Promise<void> {
  const link = await cluster.console();
  line(link);
  if (isPrinted) return;
  const { openBrowser } = await import('./console/open-browser.ts');
  if (!(await openBrowser(link))) warn('there is no browser to open here: copy the link into one');
}

function line(text: string): void {
  process.stdout.write(`${text}\n`);
}

function warn(text: string): void {
  process.stderr.write(`${text}\n`);
}
