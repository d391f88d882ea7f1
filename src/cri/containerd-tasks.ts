/**
 * Removes containers together with tasks that CRI does not know to be running. A StartContainer whose caller was
 * killed can leave a task in containerd that its CRI plugin treats as created or exited (1.6); the plugin then
 * neither stops nor removes the container ("cannot delete running task"). By the CRI, a removal ends what still runs,
 * so the client does it through containerd's own task service on the same socket. No counterpart upstream: there the
 * container counts a restart and stays.
 *
 * Only containerd has this service, so no other runtime is called.
 */
import type { GrpcCaller } from '../grpc/grpc-caller.ts';
import { isGrpcCode } from '../grpc/grpc-error.ts';
import type { ProtobufTable } from '../grpc/protobuf-table.ts';

/** The part of containerd.services.tasks.v1 that is used. */
export const tasksTable = {
  package: 'containerd.services.tasks.v1',
  enums: {},
  messages: {
    KillRequest: 'container_id:1:string exec_id:2:string signal:3:uint32 all:4:bool',
    Empty: '',
    WaitRequest: 'container_id:1:string exec_id:2:string',
    WaitResponse: 'exit_status:1:uint32',
    DeleteTaskRequest: 'container_id:1:string',
    DeleteResponse: 'id:1:string pid:2:uint32 exit_status:3:uint32',
  },
  services: {
    Tasks: {
      Kill: 'KillRequest Empty',
      Wait: 'WaitRequest WaitResponse',
      Delete: 'DeleteTaskRequest DeleteResponse',
    },
  },
} as const satisfies ProtobufTable;

const SIGKILL = 9;
/** A killed task ends at once unless it hangs in the kernel: then the next removal tries again. */
const TASK_END_TIMEOUT_MS = 10_000;
const RUNNING_TASK = /cannot delete running task ([^\s:]+): failed precondition/;

/** Kills and deletes a task. A missing task is no error. Rejects with GrpcError. */
export async function endTask(caller: GrpcCaller, containerId: string): Promise<void> {
  const service = `${tasksTable.package}.Tasks`;
  const call = async (method: keyof typeof tasksTable.services.Tasks, request: object): Promise<void> => {
    try {
      await caller.unary({ service, method }, request, { timeoutMs: TASK_END_TIMEOUT_MS });
    } catch (error) {
      // It has ended or was deleted in the meantime.
      if (!isGrpcCode(error, 'NotFound')) throw error;
    }
  };
  await call('Kill', { containerId, signal: SIGKILL, all: true });
  await call('Wait', { containerId });
  await call('Delete', { containerId });
}

/**
 * Runs a removal; kills each task that prevents it once, and retries. Rejects with the removal's own error when that
 * does not help.
 */
export async function removeWithTasks<T>(
  remove: () => Promise<T>,
  end: (containerId: string) => Promise<void>,
): Promise<T> {
  const ended = new Set<string>();
  for (;;) {
    try {
      return await remove();
    } catch (error) {
      const id = RUNNING_TASK.exec(error instanceof Error ? error.message : '')?.[1];
      if (id === undefined || ended.has(id)) throw error;
      ended.add(id);
      await end(id);
    }
  }
}
