/** Whether the settings of the first start in the data directory can be read. */
import { failure, type Check } from '../finding.ts';

export const directory: Check = {
  name: 'directory',
  check({ dataDir, instanceError, settled, isRoot }) {
    if (instanceError === undefined)
      return { level: 'ok', message: settled === undefined ? `no cluster yet in ${dataDir}` : dataDir };
    const isForbidden = !isRoot && /\bE(ACCES|PERM)\b/.test(instanceError);
    return failure(
      instanceError,
      isForbidden
        ? 'sudo keelson doctor'
        : `the file from a backup, or keelson down --delete-data --data-dir ${dataDir} and a new cluster`,
    );
  },
};
