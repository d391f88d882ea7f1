/** Every kind of volume there is. */
import type { VolumePlugin } from '../volume-plugin.ts';
import { configMapPlugin } from './config-map/config-map.ts';
import { csiPlugin } from './csi/csi.ts';
import { downwardApiPlugin } from './downward-api/downward-api.ts';
import { emptyDirPlugin } from './empty-dir/empty-dir.ts';
import { fcPlugin } from './fc/fc.ts';
import { flexVolumePlugin } from './flex-volume/flex-volume.ts';
import { gitRepoPlugin } from './git-repo/git-repo.ts';
import { glusterfsPlugin } from './glusterfs/glusterfs.ts';
import { hostPathPlugin } from './host-path/host-path.ts';
import { iscsiPlugin } from './iscsi/iscsi.ts';
import { localPlugin } from './local/local.ts';
import { nfsPlugin } from './nfs/nfs.ts';
import { projectedPlugin } from './projected/projected.ts';
import { rbdPlugin } from './rbd/rbd.ts';
import { secretPlugin } from './secret/secret.ts';

export const volumePlugins: readonly VolumePlugin[] = [
  configMapPlugin,
  csiPlugin,
  downwardApiPlugin,
  emptyDirPlugin,
  fcPlugin,
  flexVolumePlugin,
  gitRepoPlugin,
  glusterfsPlugin,
  hostPathPlugin,
  iscsiPlugin,
  localPlugin,
  nfsPlugin,
  projectedPlugin,
  rbdPlugin,
  secretPlugin,
];
