/**
 * Termination messages of containers: from their file, or from the end of their log. Upstream:
 * kuberuntime_container.go (getTerminationMessage).
 */
import { errorMessage } from '../../base/errors.ts';
import type { ContainerStatus } from '../../cri/gen/cri-types.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';
import { readLogTail } from '../logs/log-tail.ts';
import { containerFacts } from './labels.ts';
import { containerDir, type RuntimePaths } from './paths.ts';

const MAX_FILE_BYTES = 4096;
const MAX_LOG_BYTES = 2048;
const MAX_LOG_LINES = 80;
/** containerd may report the exit before the container's last lines are in the log. */
const LOG_RETRIES_MS = [0, 10, 40];

/** Reads the message of an exited container. */
export interface TerminationMessages {
  /** The runtime's own message with the container's, in that order; '' while it runs. Never rejects. */
  messageOf(status: ContainerStatus): Promise<string>;
}

async function readStart(files: Files, path: string): Promise<string> {
  const handle = await files.open(path, 'r');
  try {
    return Buffer.from(await handle.read(0, MAX_FILE_BYTES)).toString('utf8');
  } finally {
    await handle.close();
  }
}

export function createTerminationMessages(deps: {
  readonly files: Files;
  readonly clock: Clock;
  readonly paths: RuntimePaths;
}): TerminationMessages {
  const { files, clock, paths } = deps;
  const fromFile = async (status: ContainerStatus): Promise<string> => {
    const facts = containerFacts(status.labels, status.annotations);
    // A volume may be mounted at the same path. Only the kubelet's own file, which is mounted over it, cannot be
    // replaced by the pod.
    const own = `${containerDir(paths, facts.podUid, facts.containerName)}/`;
    const mount = status.mounts.find(
      ({ containerPath, hostPath }) => containerPath === facts.terminationMessagePath && hostPath.startsWith(own),
    );
    if (mount === undefined) return '';
    try {
      return await readStart(files, mount.hostPath);
    } catch (error) {
      return `Error on reading termination log ${mount.hostPath}: ${errorMessage(error)}`;
    }
  };

  const fromLog = async (status: ContainerStatus): Promise<string> => {
    try {
      for (const waitMs of LOG_RETRIES_MS) {
        if (waitMs > 0) await clock.sleep(waitMs);
        const text = await readLogTail({
          files,
          path: status.logPath,
          maxLines: MAX_LOG_LINES,
          maxBytes: MAX_LOG_BYTES,
        });
        if (text !== '') return text;
      }
      return '';
    } catch (error) {
      return `Error on reading termination message from logs: ${errorMessage(error)}`;
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
