/**
 * The file of `keelson up --simulate --record`. A recording begins with an empty cluster and contains every change. It is
 * continued only in the file in this cluster's settings, and only while the cluster has not run unrecorded; no recording is
 * overwritten.
 */
import type { ApiHandler } from '../api/transport.ts';
import { errorMessage } from '../base/errors.ts';
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import { PreflightError } from '../cluster/preflight-error.ts';
import type { Platform } from '../platform/platform.ts';
import { RecordingFile } from '../testing/recording/recording-file.ts';
import { ScenarioRecorder, type RecorderDeps } from '../testing/recording/scenario-recorder.ts';
import { parseScenario } from '../testing/scenario.ts';
import type { ScenarioStep } from '../testing/scenario-steps.ts';
import { writeSettings, type Settings } from './arguments/settings-file.ts';

type Deps = Pick<Platform, 'clock' | 'files' | 'log'>;

export interface RecordingStart extends Pick<RecorderDeps, 'cluster' | 'find'> {
  /** Absolute. */
  readonly file: string;
  /** The time that passes between steps; absent: real time. */
  readonly clock?: RecorderDeps['clock'] | undefined;
  readonly dataDir: string;
  readonly store: ClusterOptions['store']['kind'];
  /** The settings of earlier starts in the data directory. */
  readonly settings: Settings;
  /** The supervisor has started the process again after an abnormal end. */
  readonly isRestart: boolean;
}

export interface Recording {
  wrap(handler: ApiHandler): ApiHandler;
  /** Records what was done by another way than a request. */
  add(step: ScenarioStep): void;
  /** The scenario as it is now. */
  text(): string;
  /** Resolves when everything is on disk. */
  close(): Promise<void>;
}

/** Writes the file, before the store is opened. Throws `PreflightError` where the recording would lack something or replace a file. */
export async function beginRecording(deps: Deps, start: RecordingStart): Promise<Recording> {
  const { files } = deps;
  const { file, dataDir, settings, isRestart } = start;
  const earlier = await earlierRecording(deps, start);
  await writeSettings(files, dataDir, { ...settings, 'record-file': file, 'ran-unrecorded': undefined });
  const recorder = new ScenarioRecorder({
    ...start,
    clock: start.clock ?? deps.clock,
    earlier,
    onChange: () => recording.markChanged(),
  });
  const recording = new RecordingFile({ ...deps, path: file, text: () => recorder.file() });
  if (earlier !== undefined && isRestart) recorder.addMissing('requests of the last second before an abnormal end');
  await orPreflightError(file, () => files.writeFileAtomic(file, recorder.file(), { mode: 0o600 }));
  return {
    wrap: (handler) => recorder.wrap(handler),
    add: (step) => recorder.add(step),
    text: () => recorder.file(),
    close: () => recording.close(),
  };
}

/** The text to continue; undefined for a new recording. */
async function earlierRecording(deps: Deps, start: RecordingStart): Promise<string | undefined> {
  const { file, dataDir, store, settings, isRestart } = start;
  const { files } = deps;
  if (store === 'etcd') throw new PreflightError('--record: what an etcd has already is not known');
  const isOwn = settings['record-file'] === file;
  const hasObjects = store === 'sqlite' && (await files.exists(`${dataDir}/state.db`));
  if (hasObjects) refuseGap(start);
  const text = (await files.exists(file)) ? await orPreflightError(file, () => files.readText(file)) : undefined;
  if (hasObjects && text === undefined)
    throw new PreflightError(lacking(dataDir, `had objects when ${file} was taken away`));
  if (text === undefined) return undefined;
  if (hasObjects) return checkScenario(file, text);
  // A start that failed before its store was made.
  if (isOwn && isEmptyScenario(text)) return text;
  if (!isOwn || !isRestart || store !== 'memory') throw new PreflightError(`--record: ${file} is there already`);
  await setFileAside(deps, file);
  return undefined;
}

function refuseGap({ file, dataDir, settings }: RecordingStart): void {
  const own = settings['record-file'];
  if (own === undefined || settings['ran-unrecorded'] === true)
    throw new PreflightError(lacking(dataDir, 'has run without --record'));
  if (own !== file) throw new PreflightError(`--record: the cluster of ${dataDir} is recorded in ${own}`);
}

function lacking(dataDir: string, why: string): string {
  return `--record: the cluster of ${dataDir} ${why}, which the scenario would lack; choose another --name or --data-dir`;
}

function checkScenario(file: string, text: string): string {
  try {
    parseScenario(text);
    return text;
  } catch (error) {
    throw new PreflightError(`--record: ${file} cannot be gone on with: ${errorMessage(error)}`);
  }
}

function isEmptyScenario(text: string): boolean {
  try {
    return parseScenario(text).steps.length === 0;
  } catch {
    return false; // Not of this program, and so never replaced.
  }
}

/** A cluster in memory is empty after a restart: what led to its end stays, in a file of its own. */
async function setFileAside({ files, log }: Deps, file: string): Promise<void> {
  let number = 1;
  while (await files.exists(`${file}.${number}`)) number++;
  await files.rename(file, `${file}.${number}`);
  log.warn('The recording begins anew, as the cluster in memory does', { file, former: `${file}.${number}` });
}

async function orPreflightError<T>(file: string, access: () => Promise<T>): Promise<T> {
  try {
    return await access();
  } catch (error) {
    throw new PreflightError(`--record: ${file}: ${errorMessage(error)}`);
  }
}
