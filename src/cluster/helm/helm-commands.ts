/** The helm commands that install, upgrade and uninstall a release. Pure. Upstream: klipper-helm's entry. */
import { formatDurationMs } from '../../api/duration.ts';
import type { ReleaseRequest } from './release-request.ts';

/** The needed part of the output of `helm status`. */
export interface ReleaseState {
  readonly status: string;
  /** `ssa` or `csa`. */
  readonly applyMethod: string;
}

/** Paths of the files for a run of helm; undefined for those the release does not need. */
export interface HelmFiles {
  readonly chart: string | undefined;
  readonly values: readonly string[];
  readonly ca: string | undefined;
}

export type NextStep = 'install' | 'upgrade' | 'reinstall' | 'abort';

/** The name of the chart's repository within one run of helm. */
export const REPOSITORY = 'repo';
const CONFIG_HASH_LABEL = 'helmcharts.helm.cattle.io/configHash';
const MAX_LABEL_LENGTH = 63;
/** Statuses of an interrupted operation. */
const INTERRUPTED = ['pending-install', 'pending-upgrade', 'pending-rollback', 'superseded', 'uninstalling'];

export function isInterrupted({ status }: ReleaseState): boolean {
  return INTERRUPTED.includes(status);
}

export function nextStep(state: ReleaseState | undefined, policy: ReleaseRequest['failurePolicy']): NextStep {
  const status = state?.status;
  if (status === 'deployed' || status === 'pending-upgrade' || status === 'superseded') return 'upgrade';
  const isFailed =
    status !== undefined && (INTERRUPTED.includes(status) || ['deleted', 'failed', 'unknown'].includes(status));
  if (!isFailed) return 'install';
  return policy === 'retry' ? 'upgrade' : policy;
}

export function statusCommand({ name, targetNamespace }: ReleaseRequest): string[] {
  return ['status', name, `--namespace=${targetNamespace}`, '--output=json'];
}

/** `state`: the existing release; absent for a first install. `hash`: stored on the release as a label. */
export function releaseCommand(
  request: ReleaseRequest,
  files: HelmFiles,
  { state, hash }: { readonly state?: ReleaseState | undefined; readonly hash: string },
): string[] {
  const { name, targetNamespace, spec, setArguments } = request;
  const isInstall = state === undefined;
  return [
    isInstall ? 'install' : 'upgrade',
    `--namespace=${targetNamespace}`,
    // helm upgrade accepts the flag only with --install.
    ...flag('--create-namespace', spec.createNamespace === true && isInstall),
    ...flag('--take-ownership', spec.takeOwnership),
    ...option('--version', spec.version),
    ...setArguments,
    ...option('--ca-file', files.ca),
    ...flag('--insecure-skip-tls-verify', spec.insecureSkipTLSVerify),
    ...flag('--plain-http', spec.plainHTTP),
    ...timeoutArgument(request),
    `--labels=${CONFIG_HASH_LABEL}=${hash.slice(0, MAX_LABEL_LENGTH)}`,
    ...serverSideArguments(request, state),
    ...files.values.map((file) => `--values=${file}`),
    '--',
    name,
    chartArgument(request, files),
  ];
}

export function uninstallCommand(request: ReleaseRequest): string[] {
  const { name, targetNamespace } = request;
  return [
    'uninstall',
    `--namespace=${targetNamespace}`,
    '--wait',
    '--ignore-not-found',
    ...timeoutArgument(request),
    '--',
    name,
  ];
}

function timeoutArgument({ timeoutMs }: ReleaseRequest): string[] {
  return option('--timeout', timeoutMs === undefined ? '' : formatDurationMs(timeoutMs));
}

function flag(name: string, isWanted = false): string[] {
  return isWanted ? [name] : [];
}

function option(name: string, value = ''): string[] {
  return value === '' ? [] : [`${name}=${value}`];
}

function chartArgument({ source }: ReleaseRequest, { chart = '' }: HelmFiles): string {
  if (source.kind === 'repository') return `${REPOSITORY}/${source.chart}`;
  return source.kind === 'location' ? source.url : chart;
}

/** helm install does not accept `auto`, and --force-conflicts needs server-side apply. Upstream: get_ssa_args. */
function serverSideArguments(
  { serverSide, forceConflicts }: ReleaseRequest,
  state: ReleaseState | undefined,
): string[] {
  const mode = state === undefined && serverSide === 'auto' ? 'true' : serverSide;
  const applies = mode === 'true' || (mode === 'auto' && state?.applyMethod === 'ssa');
  return [`--server-side=${mode}`, ...flag('--force-conflicts', forceConflicts && applies)];
}
