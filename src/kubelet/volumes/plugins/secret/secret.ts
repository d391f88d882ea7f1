/** A Secret's keys as files in memory. Upstream: pkg/volume/secret. */
import type { Secret } from '../../../../api/gen/core-v1.ts';
import { isReason } from '../../../../api/status-error.ts';
import { DEFAULT_FILE_MODE, secretPayload } from '../../projected-content.ts';
import type { VolumePlugin } from '../../volume-plugin.ts';
import { writeContent } from '../../write-content.ts';
import { podNamespace } from '../../../types/pod-update.ts';

export const secretPlugin: VolumePlugin = {
  name: 'kubernetes.io/secret',
  supports: (source) => source.secret !== undefined,
  place: 'memory',
  ownsContent: true,
  live: true,
  async setUp(request, deps) {
    const { secretName = '', items, defaultMode = DEFAULT_FILE_MODE, optional = false } = request.spec.source.secret!;
    let secret: Secret;
    try {
      secret = await deps.objects.get('Secret', podNamespace(request.pod), secretName);
    } catch (error) {
      if (!optional || !isReason(error, 'NotFound')) throw error;
      secret = { metadata: {} };
    }
    await deps.platform.clock.yield(); // many volumes with many keys may be set up at once
    return writeContent(request, secretPayload(secret, { items, defaultMode, optional }), deps);
  },
};
