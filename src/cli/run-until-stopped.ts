/** Runs a component that is alone in its process until a signal stops it or it loses its lease. */
import { markServing } from './supervision.ts';
import { UserError } from './usage-error.ts';

export interface StandaloneComponent {
  run(signal: AbortSignal): Promise<'stopped' | 'leadership lost'>;
}

/** Resolves to the exit code. Rejects with `UserError` when leadership is lost, as upstream's components exit. */
export async function runUntilStopped(
  component: StandaloneComponent,
  served: { close(): Promise<void> },
): Promise<number> {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));
  markServing();
  const ended = await component.run(stop.signal);
  await served.close();
  if (ended === 'stopped') return 0;
  throw new UserError('leaderelection lost');
}
