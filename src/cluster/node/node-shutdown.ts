/** Graceful node shutdown as the kubelet configuration asks for it. */
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import { shutdownGroupsOf } from '../../kubelet/configuration/settings.ts';
import type { Platform } from '../../platform/platform.ts';
import type { NodeDeps } from './node-parts.ts';

/** The kubelet's shutdown dependencies; undefined where no grace period is configured. */
export async function nodeShutdown(
  platform: Platform,
  config: KubeletConfigurationV1Beta1,
  pid: number,
): Promise<Pick<NodeDeps, 'shutdown'>> {
  const groups = shutdownGroupsOf(config);
  if (groups.length === 0) return {};
  const { createLogindSource } = await import('../../kubelet/node-shutdown/logind.ts');
  const graceMs = groups.reduce((sum, { gracePeriodSeconds }) => sum + gracePeriodSeconds * 1000, 0);
  // The kubelet runs as root.
  return { shutdown: { source: createLogindSource(platform, { graceMs, pid, uid: 0 }), groups } };
}
