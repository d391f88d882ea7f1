/**
 * The file of a recorded run that the user opens in a simulation: the server repeats the run and serves its console on another
 * port.
 */
import { signal } from '@preact/signals';
import { sendJson } from '../api/http.ts';
import { pause } from '../api/pause.ts';
import { untilAnswered } from '../api/patience.ts';

export const REPLAY_FILE_PATH = '/keelson/v1/simulation/replay-file';
const PERIOD_MS = 1000;

interface ReplayFile {
  readonly state: 'None' | 'Running' | 'Open' | 'Refused';
  readonly name?: string;
  readonly failure?: string;
  readonly message?: string;
}

/** Undefined when this server opens no files, or the user may not open any. */
export const replayFile = signal<ReplayFile | undefined>(undefined);

/** Aborts the current polling; a later call replaces it. */
let following = new AbortController();

/** Reads the state of the open file, and polls it while the run is repeated. */
export async function followReplayFile(): Promise<void> {
  following.abort();
  const { signal: life } = (following = new AbortController());
  for (;;) {
    const found = await untilAnswered(() => sendJson<ReplayFile>(REPLAY_FILE_PATH), life);
    if (found === undefined || life.aborted) return;
    replayFile.value = found;
    if (found.state !== 'Running') return;
    await pause(PERIOD_MS, life);
  }
}

/** Clears the state, as after the end of the session. */
export function forgetReplayFile(): void {
  following.abort();
  replayFile.value = undefined;
}

/** Rejects with `ApiError`. */
export async function openReplayFile(file: File): Promise<void> {
  const headers = { 'Content-Type': 'application/yaml' };
  replayFile.value = await sendJson<ReplayFile>(REPLAY_FILE_PATH, { method: 'POST', headers, body: await file.text() });
  await followReplayFile();
}

/** Ends the run. Rejects with `ApiError`. */
export async function closeReplayFile(): Promise<void> {
  following.abort();
  replayFile.value = await sendJson<ReplayFile>(REPLAY_FILE_PATH, { method: 'DELETE' });
}

/** Navigates to the console of the run. Rejects with `ApiError`. */
export async function showReplayFile(): Promise<void> {
  const { port, path } = await sendJson<{ readonly port: number; readonly path: string }>(`${REPLAY_FILE_PATH}/link`, {
    method: 'POST',
  });
  location.assign(`https://${location.hostname}:${port}${path}`);
}
