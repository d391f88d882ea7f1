import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { type ConfigurationSources, loadConfiguration } from './load.ts';

/** Loads configurations from files in memory. */

export const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

export async function load(
  files: Readonly<Record<string, string>>,
  sources: ConfigurationSources,
): ReturnType<typeof loadConfiguration> {
  const platform = createSimPlatform();
  for (const [path, text] of Object.entries(files)) {
    await platform.clock.drive(platform.files.makeDir(path.slice(0, path.lastIndexOf('/')) || '/'));
    await platform.clock.drive(platform.files.writeFile(path, text));
  }
  return platform.clock.drive(loadConfiguration(platform.files, sources));
}
