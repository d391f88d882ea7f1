/** Free space and inodes of the data directory's file system, compared with the kubelet's thresholds. */
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';

/** Upstream's defaults: `nodefs.available<10%`, `nodefs.inodesFree<5%`, `imageGCHighThresholdPercent: 85`. */
const [EVICTION, INODE_EVICTION, IMAGE_COLLECTION] = [0.1, 0.05, 0.15];
const GIB = 1_073_741_824;

export const disk: Check = {
  name: 'disk',
  check({ disk: facts, dataDir }) {
    if (facts === undefined)
      return warning(`${dataDir}: its file system cannot be read`, 'mount it, or choose another --data-dir');
    const { path, totalBytes, availableBytes, totalInodes, availableInodes } = facts;
    const [space, inodes] = [availableBytes / totalBytes, totalInodes === 0 ? 1 : availableInodes / totalInodes];
    const free = `${(availableBytes / GIB).toFixed(1)} of ${(totalBytes / GIB).toFixed(1)} GiB free (${percent(space)}) at ${path}`;
    const cure = 'keelson image prune, or a larger disk';
    const problems: Finding[] = [];
    if (space < EVICTION) problems.push(failure(`${free}: below 10 % the kubelet evicts pods`, cure));
    else if (space < IMAGE_COLLECTION) problems.push(warning(`${free}: below 15 % the kubelet deletes images`, cure));
    if (inodes < INODE_EVICTION)
      problems.push(
        failure(`${percent(inodes)} of the inodes free at ${path}: below 5 % the kubelet evicts pods`, cure),
      );
    return worstOf(problems, `${free}${totalInodes === 0 ? '' : `, ${percent(inodes)} of the inodes`}`);
  },
};

function percent(share: number): string {
  return `${Math.floor(share * 100)} %`;
}
