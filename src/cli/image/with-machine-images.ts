/** The runtimes of a running cluster's nodes on this machine, for the `keelson image` commands. */
import { resolve } from 'node:path';
import type { ClusterStatus } from '../../cluster/cluster-status.ts';
import type { Images } from '../../cluster/images/machine-images.ts';
import { requestControl } from '../../cluster/instance/control-client.ts';
import type { NodeStatus } from '../../cluster/nodes/node-status.ts';
import { errorMessage } from '../../base/errors.ts';
import { UserError } from '../usage-error.ts';

/** Runs work with the images. A refusal by the runtime or a registry becomes a `UserError`. */
export async function withMachineImages(dataDir: string, work: (images: Images) => Promise<void>): Promise<void> {
  const dir = resolve(dataDir);
  const status = (await requestControl(dir, 'status')) as Partial<ClusterStatus> | undefined;
  if (status?.containerdSocket === undefined)
    throw new UserError(`no cluster runs on ${dir} (keelson ls lists those there are)`);
  if (status.simulated === true)
    throw new UserError('the containers of this cluster are simulated: images of any name run without being loaded');
  const { createNodePlatform } = await import('../../platform/node/node-platform.ts');
  const { MachineImages } = await import('../../cluster/images/machine-images.ts');
  const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  try {
    const { machineNodes = [] } = status;
    const isLeftOut = ({ state, problem }: NodeStatus): boolean => state === 'stopped' || problem !== undefined;
    const leftOut = machineNodes.filter(isLeftOut).map(({ name }) => name);
    const sockets = machineNodes.filter((node) => !isLeftOut(node)).map((node) => node.containerdSocket);
    const [own, ...others] = [status.containerdSocket, ...sockets].map((socket) => new MachineImages(platform, socket));
    if (others.length === 0) await work(own!);
    else {
      const { SeveralMachinesImages } = await import('../../cluster/images/several-machines-images.ts');
      await work(new SeveralMachinesImages([own!, ...others]));
    }
    if (leftOut.length > 0) process.stderr.write(`keelson: left out, as they do not run: ${leftOut.join(', ')}\n`);
  } catch (error) {
    throw error instanceof UserError ? error : new UserError(errorMessage(error), 1, { cause: error });
  } finally {
    platform.close();
  }
}

/** Loads one source; resolves to lines about it. */
export async function loadText(images: Images, source: string, name?: string): Promise<string> {
  const { openArchive } = await import('../../cluster/images/open-archive.ts');
  const startedMs = performance.now();
  try {
    const {
      images: loaded,
      writtenBytes,
      totalBytes,
    } = await images.load(await openArchive(source, process.env), { name });
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(2);
    const sizes = `${(writtenBytes / 1e6).toFixed(1)} of ${(totalBytes / 1e6).toFixed(1)} MB new, ${seconds} s`;
    return loaded.map((image) => `loaded ${image.name} (${sizes})\n`).join('');
  } catch (error) {
    throw new UserError(`${source}: ${errorMessage(error)}`, 1, { cause: error });
  }
}
