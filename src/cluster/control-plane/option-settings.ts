/** A control plane's settings from the cluster's options. */
import type { ControllerSettings } from '../../controllers/controller.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import { publishedParts } from '../join/critical-settings.ts';
import type { ServerSettings } from './server-settings.ts';

const LOCAL_PATH_PROVISIONER = 'local-path-provisioner-controller';

/** The API server's settings. */
export function serverSettings(options: ClusterOptions): ServerSettings {
  const { apiServer, localPath, metrics } = options;
  return {
    ...apiServer?.limits,
    serviceNodePorts: apiServer?.nodePorts,
    localPath,
    metricsApi: metrics !== 'none',
    publishedParts: publishedParts(options),
  };
}

/** Leaves out the provisioner of local volumes where the user brings storage. */
export function controllerSettings({ controllerManager, localPath }: ClusterOptions): ControllerSettings {
  return localPath === 'none'
    ? { ...controllerManager, withoutNames: [LOCAL_PATH_PROVISIONER] }
    : { ...controllerManager };
}
