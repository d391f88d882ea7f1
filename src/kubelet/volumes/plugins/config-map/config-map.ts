/** A ConfigMap's keys as files. Upstream: pkg/volume/configmap. */
import type { ConfigMap } from '../../../../api/gen/core-v1.ts';
import { isReason } from '../../../../api/status-error.ts';
import { configMapPayload, DEFAULT_FILE_MODE } from '../../projected-content.ts';
import type { VolumePlugin } from '../../volume-plugin.ts';
import { writeContent } from '../../write-content.ts';
import { podNamespace } from '../../../types/pod-update.ts';

export const configMapPlugin: VolumePlugin = {
  name: 'kubernetes.io/configmap',
  supports: (source) => source.configMap !== undefined,
  place: 'disk',
  ownsContent: true,
  live: true,
  async setUp(request, deps) {
    const { name = '', items, defaultMode = DEFAULT_FILE_MODE, optional = false } = request.spec.source.configMap!;
    let configMap: ConfigMap;
    try {
      configMap = await deps.objects.get('ConfigMap', podNamespace(request.pod), name);
    } catch (error) {
      if (!optional || !isReason(error, 'NotFound')) throw error;
      configMap = { metadata: {} };
    }
    await deps.platform.clock.yield(); // many volumes with many keys may be set up at once
    return writeContent(request, configMapPayload(configMap, { items, defaultMode, optional }), deps);
  },
};
