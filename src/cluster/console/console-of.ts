/** The console of an API server in this process; its code is loaded by its first request. */
import type { ConsolePorts, LoadConsole } from '../../apiserver/console/contract.ts';

export function consoleOf(platform: Pick<ConsolePorts, 'clock' | 'random'>): LoadConsole {
  return async () => (await import('./console-files.ts')).consolePorts(platform);
}
