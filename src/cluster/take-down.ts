/**
 * `keelson down`: ends everything of one instance and leaves the machine as it was. Each step is tried whatever became of
 * the others; what could not be done is returned as lines for the user. Only what bears the instance's names is touched.
 */
import { isAtOrBelow } from '../base/paths.ts';
import { errorMessage } from '../base/errors.ts';
import { appendAll } from '../base/lists.ts';
import type { Files } from '../platform/files.ts';
import type { Platform } from '../platform/platform.ts';
import { readEtcdFile } from './etcd/etcd-file.ts';
import { endEtcd } from './etcd/etcd-process.ts';
import { etcdDir } from './etcd/own-etcd.ts';
import { removeEtcdMember } from './etcd/remove-etcd-member.ts';
import { DataPlaneDaemon } from './gateway/data-plane-daemon.ts';
import { rootRunDir } from './instance/control-place.ts';
import { endInstance } from './instance/end-instance.ts';
import { type InstanceFile, readInstanceFile } from './instance/instance-file.ts';
import { deriveInstance, type Instance } from './instance/instance.ts';
import { createPodNetwork } from './network/pod-network.ts';
import { createInstanceContainerd } from './node/containerd.ts';
import { removeCgroups } from './node/remove-cgroups.ts';
import { removeNodeServices } from './node/node-services.ts';
import { takeDownNodes } from './nodes/take-down-nodes.ts';

/** The parts to be taken down. */
export interface TakeDownOptions {
  readonly dataDir: string;
  readonly deleteData: boolean;
}

/** By these a data directory is known: of a real machine, and of simulated nodes. */
const STARTED: readonly string[] = ['instance.json', 'admin.kubeconfig'];

/** All that a first start which failed, or a restore before the first, may have left: folders by what ours have in them. */
const BEFORE_START: Readonly<Record<string, readonly string[]>> = {
  logs: ['keelson.log'],
  pki: ['ca.crt'],
  etcd: ['data'],
  'etcd.json': [],
  'keelson.lock': [],
  'keelson.lock-journal': [],
  control: [],
  crashes: [],
};

/** The store with its log and its copies, which may be there without any of the others. */
const STORE = /^state\.db($|[-.])/;
/** A file of ours that a kill kept from getting its name. */
const PARTIAL = /^\.(admin\.kubeconfig|instance\.json|etcd\.json)\.tmp-[\d-]+$/;
/** Likewise, in a folder of ours. */
const PARTIAL_IN_FOLDER = /^\..+\.tmp-[\d-]+$/;

/** Takes down; resolves to the problems met. A missing part is no problem. */
export async function takeDown(platform: Platform, options: TakeDownOptions): Promise<readonly string[]> {
  const { files } = platform;
  if (!(await files.exists(options.dataDir))) return [];
  const file = await readInstanceFile(files, options.dataDir);
  if (options.deleteData && !(await isDataDir(files, options.dataDir)))
    return [`${options.dataDir} holds no data of a cluster: nothing is deleted`];
  const problems: string[] = [];
  const step = async (what: string, work: () => Promise<readonly string[] | void>): Promise<void> => {
    try {
      appendAll(problems, (await work()) ?? []);
    } catch (error) {
      problems.push(`${what}: ${errorMessage(error)}`);
    }
  };
  if (options.deleteData) await step('etcd', () => leaveEtcd(platform, options.dataDir));
  await step('stop', async () => {
    await endInstance(platform, options.dataDir);
  });
  if (file !== undefined) await takeDownInstance(platform, instanceOf(platform, file, options.dataDir), { file, step });
  // A simulated cluster, or one that was killed before it wrote its file: it has its control socket there.
  else await step('run directory', () => files.remove(rootRunDir(options.dataDir)));
  if (options.deleteData && problems.length === 0) await step('data', () => files.remove(options.dataDir));
  return problems;
}

/** A directory named by mistake is not deleted: beside unknown files, common names do not identify an instance. */
async function isDataDir(files: Files, dataDir: string): Promise<boolean> {
  const names = await files.readDir(dataDir);
  if (names.some((name) => STARTED.includes(name))) return true;
  const ours = async (name: string): Promise<boolean> => {
    if (STORE.test(name) || PARTIAL.test(name)) return true;
    if (!Object.hasOwn(BEFORE_START, name)) return false;
    const found = await Promise.all(BEFORE_START[name]!.map((mark) => files.exists(`${dataDir}/${name}/${mark}`)));
    return !found.includes(false) || (await isUnfinishedFolder(files, `${dataDir}/${name}`));
  };
  return !(await Promise.all(names.map(ours))).includes(false);
}

/** A kill came before the first file of the folder had its name. */
async function isUnfinishedFolder(files: Files, folder: string): Promise<boolean> {
  const isFolder = (await files.lstat(folder)).kind === 'directory';
  return isFolder && (await files.readDir(folder)).every((name) => PARTIAL_IN_FOLDER.test(name));
}

function instanceOf(platform: Platform, file: InstanceFile, dataDir: string): Instance {
  const { nodeName, clusterCidr, serviceCidr, clusterDomain, httpsPort, cni } = file;
  return deriveInstance(
    { dataDir, nodeName, clusterCidr, serviceCidr, clusterDomain, httpsPort, cni: cni || undefined },
    (text) => platform.crypto.sha256Hex(text),
  );
}

/** A member whose data is deleted never comes back: counted on, it would cost the others their quorum. */
async function leaveEtcd(platform: Platform, dataDir: string): Promise<void> {
  const file = await readEtcdFile(platform.files, dataDir);
  if (file === undefined || file.others.length === 0) return;
  try {
    await removeEtcdMember(platform, { dataDir, pkiDir: `${dataDir}/pki` }, file.name);
  } catch (error) {
    throw new Error(
      `this server cannot leave its cluster (${errorMessage(error)}); run keelson server remove ${file.name} on another server first, or keelson down without --delete-data`,
      { cause: error },
    );
  }
}

type Step = (what: string, work: () => Promise<readonly string[] | void>) => Promise<void>;

async function takeDownInstance(
  platform: Platform,
  instance: Instance,
  { file, step }: { file: InstanceFile; step: Step },
): Promise<void> {
  const { files } = platform;
  await step('nodes', () => takeDownNodes(platform, instance));
  await step('etcd', () => endEtcd(platform, etcdDir(instance.dataDir)));
  await step('routes', () => new DataPlaneDaemon(platform, instance, () => undefined).remove());
  await step('services', () => removeNodeServices(platform, instance));
  if (file.containerRuntimeEndpoint === undefined && (await files.exists(instance.containerd.config))) {
    await step('containerd', () => createInstanceContainerd(platform, instance, []).stop());
  }
  await step('mounts', () => unmountAll(platform, [instance.kubeletRoot, instance.containerd.root, instance.runDir]));
  await step('network', () => createPodNetwork(platform, instance).remove());
  await step('cgroups', () => removeCgroups(platform, instance));
  await step('pods', () => files.remove(`${instance.kubeletRoot}/pods`));
  await step('run directory', () => files.remove(instance.runDir));
}

/** Unmounts what is mounted below these directories, the deepest first. */
async function unmountAll({ mounter }: Platform, roots: readonly string[]): Promise<void> {
  const below = (path: string): boolean => roots.some((root) => isAtOrBelow(path, root));
  const mounts = (await mounter.list()).map((m) => m.path).filter(below);
  for (const path of mounts.sort((a, b) => b.length - a.length)) await mounter.unmount(path, { lazy: true });
}
