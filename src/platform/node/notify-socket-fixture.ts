/** A service manager's socket for notifications, for tests: Python receives, as Node.js has no unix datagrams. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The program that is needed and not there; undefined: all are. */
export const absentForNotify = ['systemd-notify', 'python3'].find(
  (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status !== 0,
);

export interface NotifySocket {
  readonly path: string;
  /** `PID WORDS` of each datagram so far: the sender's pid from the kernel, and the text. */
  readonly heard: readonly string[];
  /** Resolves with the next datagram, or at once with one that was not returned yet. */
  next(): Promise<string>;
  close(): Promise<void>;
}

const RECEIVER = `
import os, socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind(sys.argv[1])
print('open', flush=True)
while True:
    data, ancillary, _, _ = s.recvmsg(4096, 4096)
    pid = next(struct.unpack('iII', d[:12])[0] for _, kind, d in ancillary if kind == socket.SCM_CREDENTIALS)
    print(pid, ' '.join(data.decode().split()), flush=True)
`;

export async function openNotifySocket(): Promise<NotifySocket> {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-notify-'));
  const path = join(folder, 'notify');
  const receiver = spawn('python3', ['-c', RECEIVER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(receiver.stdout);
  await once(lines, 'line');
  const heard: string[] = [];
  let taken = 0;
  lines.on('line', (line: string) => void heard.push(line));
  return {
    path,
    heard,
    async next() {
      while (heard.length <= taken) await once(lines, 'line');
      return heard[taken++]!;
    },
    async close() {
      receiver.kill();
      await once(receiver, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}
