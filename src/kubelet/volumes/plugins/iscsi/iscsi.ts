/**
 * A LUN of an iSCSI target, by the node's iscsiadm. Upstream: pkg/volume/iscsi. It logs in to every portal; the paths
 * are combined where multipathd runs, otherwise the first is used.
 */
import type { ISCSIPersistentVolumeSource, ISCSIVolumeSource } from '../../../../api/gen/core-v1.ts';
import { errorMessage } from '../../../../base/errors.ts';
import { multipathDevice, removeMultipath } from '../../multipath.ts';
import { runTool, tryTool } from '../../run-tool.ts';
import { secretKeyOf, secretValues } from '../../secret-values.ts';
import { setUpShared, tearDownShared, type DeviceData } from '../../shared-devices.ts';
import { toolArgument } from '../../tool-arguments.ts';
import type { VolumePlugin, VolumePluginDeps } from '../../volume-plugin.ts';

const NAME = 'kubernetes.io/iscsi';
const DEVICE_WAIT_MS = 10_000;
const DEVICE_POLL_MS = 500;
/** The allowed settings of a secret. Other settings of the node's record would change more than the login. */
const CREDENTIALS = ['username', 'password', 'username_in', 'password_in'];

/** Exit codes of iscsiadm: the session exists already; there is none. */
const SESSION_EXISTS = 15;
const NO_SESSION = 21;

interface Target {
  readonly source: ISCSIVolumeSource | ISCSIPersistentVolumeSource;
  readonly portals: readonly string[];
  readonly iface: string;
  readonly secrets: Readonly<Record<string, string>>;
}

export const iscsiPlugin: VolumePlugin = {
  name: NAME,
  supports: (source) => source.iscsi !== undefined,
  place: 'disk',
  ownsContent: false,
  live: false,
  async setUp(request, deps) {
    const source = request.spec.source.iscsi!;
    checkSource(source);
    const { iqn, lun, fsType = '', iscsiInterface = 'default', initiatorName } = source;
    const portals = [source.targetPortal, ...(source.portals ?? [])].map(withPort);
    const iface = initiatorName === undefined ? iscsiInterface : `${portals[0]}:${request.spec.name}`;
    const secrets = await secretValues(deps.client, secretKeyOf(source.secretRef, request.pod.metadata.namespace));
    return setUpShared(request, deps, {
      plugin: NAME,
      key: `${portals[0]}-${iqn}-lun-${lun}`,
      data: { portals: portals.join(' '), iqn, lun: String(lun), iface, ownInterface: initiatorName ?? '' },
      fsType,
      readOnly: request.spec.readOnly || (source.readOnly ?? false),
      block: request.spec.persistentVolume?.spec?.volumeMode === 'Block',
      attach: () => attach(deps, { source, portals, iface, secrets }),
    });
  },
  tearDown: (request, deps) =>
    tearDownShared(request, deps, { plugin: NAME, detach: (data, others) => detach(deps, data, others) }),
};

/** Targets, portals and interfaces become parts of iscsiadm's file names and of the device's path. */
function checkSource(source: Target['source']): void {
  const { targetPortal, portals = [], iqn, iscsiInterface, initiatorName } = source;
  for (const portal of [targetPortal, ...portals]) toolArgument('portal', portal, 'host');
  toolArgument('iqn', iqn, 'name');
  if (iscsiInterface !== undefined) toolArgument('iscsiInterface', iscsiInterface, 'name');
  if (initiatorName !== undefined) toolArgument('initiatorName', initiatorName, 'name');
}

function withPort(portal: string): string {
  return /:\d+$/.test(portal) ? portal : `${portal}:3260`;
}

async function attach(deps: VolumePluginDeps, target: Target): Promise<string> {
  const { exec } = deps.platform;
  const { source, portals, iface } = target;
  if (source.initiatorName !== undefined) {
    await runTool(exec, 'iscsiadm', ['-m', 'iface', '-I', iface, '-o', 'new']);
    await update(deps, ['-m', 'iface', '-I', iface], { 'iface.initiatorname': source.initiatorName });
  }
  const failures: string[] = [];
  const paths: string[] = [];
  for (const portal of portals) {
    try {
      await logIn(deps, target, portal);
      paths.push(await waitForDevice(deps, pathOf(portal, source.iqn, String(source.lun))));
    } catch (error) {
      failures.push(`${portal}: ${errorMessage(error)}`);
    }
  }
  if (paths.length === 0) throw new Error(`failed to get any path for iscsi disk: ${failures.join('; ')}`);
  return multipathDevice(deps.platform, paths);
}

function pathOf(portal: string, iqn: string, lun: string): string {
  return `/dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-${lun}`;
}

async function logIn(deps: VolumePluginDeps, target: Target, portal: string): Promise<void> {
  const { exec } = deps.platform;
  const { source, iface, secrets } = target;
  const discovery = ['-m', 'discoverydb', '-t', 'sendtargets', '-p', portal, '-I', iface];
  const node = ['-m', 'node', '-p', portal, '-T', source.iqn, '-I', iface];
  await runTool(exec, 'iscsiadm', [...discovery, '-o', 'new']);
  if (source.chapAuthDiscovery === true)
    await update(deps, discovery, {
      'discovery.sendtargets.auth.authmethod': 'CHAP',
      ...credentials(secrets, 'discovery.sendtargets.auth'),
    });
  await runTool(exec, 'iscsiadm', [...discovery, '--discover']);
  await runTool(exec, 'iscsiadm', [...node, '-o', 'new']);
  if (source.chapAuthSession === true)
    await update(deps, node, { 'node.session.auth.authmethod': 'CHAP', ...credentials(secrets, 'node.session.auth') });
  const { exitCode, stderr } = await tryTool(exec, 'iscsiadm', [...node, '--login']);
  if (exitCode !== 0 && exitCode !== SESSION_EXISTS) throw new Error(`failed to log in: ${stderr.trim()}`);
}

function credentials(secrets: Readonly<Record<string, string>>, prefix: string): Record<string, string> {
  const names = CREDENTIALS.map((credential) => `${prefix}.${credential}`);
  return Object.fromEntries(Object.entries(secrets).filter(([key]) => names.includes(key)));
}

async function update(
  { platform }: VolumePluginDeps,
  where: readonly string[],
  values: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [key, value] of Object.entries(values))
    await runTool(platform.exec, 'iscsiadm', [...where, '-o', 'update', '-n', key, '-v', value]);
}

async function waitForDevice({ platform }: VolumePluginDeps, path: string): Promise<string> {
  const { clock, files } = platform;
  for (const endMs = clock.monotonicMs() + DEVICE_WAIT_MS; ;) {
    if (await files.exists(path)) return path;
    if (clock.monotonicMs() >= endMs) throw new Error(`could not find the device ${path}`);
    await clock.sleep(DEVICE_POLL_MS);
  }
}

/** Other LUNs of the same target share its session. */
async function detach(deps: VolumePluginDeps, data: DeviceData, others: readonly DeviceData[]): Promise<void> {
  const { portals = '', iqn = '', iface = '', lun = '' } = data;
  const paths = portals.split(' ').map((portal) => pathOf(portal, iqn, lun));
  await removeMultipath(deps.platform, paths);
  if (others.some((other) => other['iqn'] === iqn && other['portals'] === portals)) return;
  const { exec } = deps.platform;
  for (const portal of portals.split(' ')) {
    const node = ['-m', 'node', '-p', portal, '-T', iqn, '-I', iface];
    for (const step of [['--logout'], ['-o', 'delete']]) {
      const { exitCode, stderr } = await tryTool(exec, 'iscsiadm', [...node, ...step]);
      if (exitCode !== 0 && exitCode !== NO_SESSION) throw new Error(`iscsiadm ${step.join(' ')}: ${stderr.trim()}`);
    }
  }
  if (data['ownInterface'] !== '') await runTool(exec, 'iscsiadm', ['-m', 'iface', '-I', iface, '-o', 'delete']);
}
