/** Termination messages of containers: from their file, or from the end of their log. Upstream: kuberuntime_container.go (getTerminationMessage). */
import type { ContainerStatus } from '../../cri/gen/cri-types.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';
import { readLogTail } from '../logs/log-tail.ts';
import { containerFacts } from './labels.ts';

const maxFileBytes = 4096;
const maxLogBytes = 2048;
const maxLogLines = 80;
/** containerd may tell of the end a moment before the last lines are in the log. */
const logRetriesMs = [0, 10, 40];

/** Finds the message of a container that has exited. */
export interface TerminationMessages {
  /** The runtime's own message with the container's, in that order; '' while it runs. Never rejects. */
  messageOf(status: ContainerStatus): Promise<string>;
}

async function readStart(files: Files, path: string): Promise<string> {
  const handle = await files.open(path, 'r');
  try {
    return Buffer.from(await handle.read(0, maxFileBytes)).toString('utf8');
  } finally {
    await handle.close();
  }
}

/** Makes the reader. */
export function createTerminationMessages(files: Files, clock: Clock): TerminationMessages {
  const fromFile = async (status: ContainerStatus): Promise<string> => {
    const path = containerFacts(status.labels, status.annotations).terminationMessagePath;
    const mount = path === '' ? undefined : status.mounts.find((candidate) => candidate.containerPath === path);
    if (mount === undefined) return '';
    try {
      return await readStart(files, mount.hostPath);
    } catch (error) {
      return `Error on reading termination log ${mount.hostPath}: ${error instanceof Error ? error.message : String(error)}`;
    }
  };

  const fromLog = async (status: ContainerStatus): Promise<string> => {
    try {
      for (const waitMs of logRetriesMs) {
        if (waitMs > 0) await clock.sleep(waitMs);
        const text = await readLogTail({ files, path: status.logPath, maxLines: maxLogLines, maxBytes: maxLogBytes });
        if (text !== '') return text;
      }
      return '';
    } catch (error) {
      return `Error on reading termination message from logs: ${error instanceof Error ? error.message : String(error)}`;
    }
  };

  return {
    async messageOf(status) {
      if (status.state !== 'CONTAINER_EXITED') return status.message;
      let own = await fromFile(status);
      const policy = containerFacts(status.labels, status.annotations).terminationMessagePolicy;
      const fallBack = policy === 'FallbackToLogsOnError' && (status.exitCode !== 0 || status.reason === 'OOMKilled');
      if (own === '' && fallBack && status.logPath !== '') own = await fromLog(status);
      if (own === '') return status.message;
      return status.message === '' ? own : `${status.message}: ${own}`;
    },
  };
}
