/** Every kind of volume there is. */
import type { VolumePlugin } from '../volume-plugin.ts';
import { configMapPlugin } from './config-map/config-map.ts';
import { csiPlugin } from './csi/csi.ts';
import { downwardApiPlugin } from './downward-api/downward-api.ts';
import { emptyDirPlugin } from './empty-dir/empty-dir.ts';
import { hostPathPlugin } from './host-path/host-path.ts';
import { localPlugin } from './local/local.ts';
import { nfsPlugin } from './nfs/nfs.ts';
import { projectedPlugin } from './projected/projected.ts';
import { secretPlugin } from './secret/secret.ts';

export const volumePlugins: readonly VolumePlugin[] = [
  configMapPlugin,
  csiPlugin,
  downwardApiPlugin,
  emptyDirPlugin,
  hostPathPlugin,
  localPlugin,
  nfsPlugin,
  projectedPlugin,
  secretPlugin,
];
