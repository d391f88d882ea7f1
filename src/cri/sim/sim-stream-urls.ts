/** The addresses at which the simulated runtime serves exec, attach and port forwarding. */
import type { CriRuntimeService } from '../gen/cri-types.ts';
import { runCommand } from './sim-container-calls.ts';
import { runningContainer, unimplemented } from './sim-runtime-lookup.ts';
import type { SimState } from './sim-state.ts';
import type { PendingStream } from './sim-streaming.ts';

type StreamRequest = Parameters<CriRuntimeService['exec']>[0] & Parameters<CriRuntimeService['attach']>[0];

/** The URL at which the client opens its streams. */
function streamUrl(
  state: SimState,
  request: StreamRequest,
  { call, run }: { call: 'Exec' | 'Attach'; run: PendingStream['run'] },
): string {
  if (state.streamingAt === undefined) return unimplemented(call);
  const token = state.newId().slice(0, 16);
  const { stdin = false, stdout = false, stderr = false, tty = false } = request;
  state.pendingStreams.set(token, { run, stdin, stdout, stderr, tty });
  return `http://${state.streamingAt}/${call.toLowerCase()}/${token}`;
}

export function execUrl(state: SimState, request: StreamRequest): string {
  const container = runningContainer(state, request.containerId);
  const how = { command: request.cmd ?? [], limitMs: Number.POSITIVE_INFINITY };
  return streamUrl(state, request, {
    call: 'Exec',
    async run(write) {
      const { exitCode, stdout = '', stderr = '' } = await runCommand(state, container, how);
      await write('stdout', stdout);
      await write('stderr', stderr);
      return exitCode;
    },
  });
}

/** Streams lines as they are logged until the container ends. */
export function attachUrl(state: SimState, request: StreamRequest): string {
  const container = runningContainer(state, request.containerId);
  return streamUrl(state, request, {
    call: 'Attach',
    async run(write) {
      let written = Promise.resolve();
      const leave = container.onLine((line, stream) => {
        // A client that disconnected gets no error.
        written = written.then(() => write(stream, `${line}\n`)).catch(() => undefined);
      });
      await container.ended;
      leave();
      await written;
      return 0;
    },
  });
}
