/** The pod's own fields and resources as files. Upstream: pkg/volume/downwardapi. */
import { DEFAULT_FILE_MODE, downwardPayload } from '../../projected-content.ts';
import type { VolumePlugin } from '../../volume-plugin.ts';
import { writeContent } from '../../write-content.ts';

export const downwardApiPlugin: VolumePlugin = {
  name: 'kubernetes.io/downward-api',
  supports: (source) => source.downwardAPI !== undefined,
  place: 'memory',
  ownsContent: true,
  live: true,
  async setUp(request, deps) {
    const { items, defaultMode = DEFAULT_FILE_MODE } = request.spec.source.downwardAPI!;
    return writeContent(request, downwardPayload({ items, pod: request.pod, node: deps.node(), defaultMode }), deps);
  },
};
