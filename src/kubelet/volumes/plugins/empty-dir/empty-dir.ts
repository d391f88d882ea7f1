/** A directory that lives as long as its pod: on disk, in memory or in huge pages. Upstream: pkg/volume/emptydir. */
import type { Pod } from '../../../../api/gen/core-v1.ts';
import { quantityFromValue, quantityValue } from '../../../../api/quantity.ts';
import { fsGroupOf, setVolumeOwnership } from '../../volume-ownership.ts';
import type { SetUpRequest, VolumePlugin, VolumePluginDeps } from '../../volume-plugin.ts';
import { smallest } from '../../../../base/lists.ts';

const DIRECTORY_MODE = 0o777;
const HUGE_PAGES = 'HugePages';

export const emptyDirPlugin: VolumePlugin = {
  name: 'kubernetes.io/empty-dir',
  supports: (source) => source.emptyDir !== undefined,
  place: 'disk',
  ownsContent: true,
  live: false,
  async setUp(request, deps) {
    const { files, mounter } = deps.platform;
    const { dir, pod } = request;
    const { medium = '' } = request.spec.source.emptyDir!;
    await files.makeDir(dir);
    if (medium === 'Memory') {
      if (!(await mounter.isMountPoint(dir))) {
        await mounter.mount({ source: 'tmpfs', target: dir, type: 'tmpfs', options: tmpfsOptions(request, deps) });
      }
    } else if (medium === HUGE_PAGES || medium.startsWith(`${HUGE_PAGES}-`)) {
      if (!(await mounter.isMountPoint(dir))) {
        await mounter.mount({
          source: 'nodev',
          target: dir,
          type: 'hugetlbfs',
          options: [`pagesize=${hugePageSize(pod, medium)}`],
        });
      }
    } else if (medium !== '') {
      throw new Error(`unknown storage medium "${medium}"`);
    }
    await files.chmod(dir, DIRECTORY_MODE);
    await setVolumeOwnership({ files, path: dir, readOnly: false, ...fsGroupOf(pod) });
    return { hostPath: dir, readOnly: false, selinuxRelabel: true };
  },
};

/** The smallest of the node's memory, the pod's limit and the volume's own. Upstream: calculateEmptyDirMemorySize. */
function tmpfsOptions(request: SetUpRequest, deps: VolumePluginDeps): string[] {
  const limits = [deps.node().allocatable['memory'], request.spec.source.emptyDir!.sizeLimit]
    .filter((limit) => limit !== undefined)
    .map(quantityValue);
  const podLimit = podMemoryLimit(request.pod);
  if (podLimit !== undefined) limits.push(podLimit);
  const sizes = limits.filter((limit) => limit > 0);
  return sizes.length === 0 ? [] : [`size=${smallest(sizes)}`];
}

/** Undefined when a container has no limit. */
function podMemoryLimit(pod: Pod): number | undefined {
  const podLevel = pod.spec?.resources?.limits?.['memory'];
  if (podLevel !== undefined) return quantityValue(podLevel);
  let total = 0;
  for (const container of pod.spec?.containers ?? []) {
    const limit = container.resources?.limits?.['memory'];
    if (limit === undefined) return undefined;
    total += quantityValue(limit);
  }
  return total;
}

/** The page size in the medium's name, or the only one that the pod requests, in the kernel's spelling. */
function hugePageSize(pod: Pod, medium: string): string {
  const requested = new Set<string>();
  for (const container of [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])]) {
    for (const name of Object.keys({ ...container.resources?.limits, ...container.resources?.requests })) {
      if (name.startsWith('hugepages-')) requested.add(name.slice('hugepages-'.length));
    }
  }
  if (requested.size === 0) throw new Error('no huge pages are requested by the pod');
  const size = medium === HUGE_PAGES ? onlyOf(requested) : medium.slice(HUGE_PAGES.length + 1);
  const bytes = quantityValue(size);
  if (![...requested].some((name) => quantityValue(name) === bytes)) {
    throw new Error(`medium "${medium}" specified but no container requests huge pages of that size`);
  }
  return quantityFromValue(bytes, 'BinarySI').replace(/i$/, '');
}

function onlyOf(sizes: ReadonlySet<string>): string {
  if (sizes.size > 1)
    throw new Error('medium "HugePages" can only be used if container requests use only one huge page size');
  return [...sizes][0]!;
}
