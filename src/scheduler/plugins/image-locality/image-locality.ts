/**
 * ImageLocality: prefers nodes that have the pod's images. The score is reduced where few nodes have an image, so
 * that one node does not get all pods. Upstream: plugins/imagelocality.
 */
import { podContainers } from '../../../api/pod-containers.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { Snapshot } from '../../cache/node-info.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';

const NAME = 'ImageLocality';
const MIB = 1024 * 1024;
const MIN_BYTES = 23 * MIB;
const MAX_BYTES_PER_IMAGE = 1000 * MIB;

export function createImageLocality(): SchedulerPlugin {
  return {
    name: NAME,
    preScore(state, pod, { snapshot }) {
      const images = imagesOf(pod);
      if (images.every((image) => snapshot.imageNodes(image) === 0)) return { code: 'skip', reasons: [], plugin: NAME };
      state.set(NAME, { images, shares: images.map((image) => shareOf(snapshot, image)) });
      return undefined;
    },
    score(state, _pod, node) {
      const { images, shares } = state.get(NAME) as { images: readonly string[]; shares: readonly number[] };
      let bytes = 0;
      for (let i = 0; i < images.length; i++)
        bytes += Math.floor((node.images.get(images[i] ?? '') ?? 0) * (shares[i] ?? 0));
      const most = MAX_BYTES_PER_IMAGE * images.length;
      return Math.floor((100 * (Math.min(Math.max(bytes, MIN_BYTES), most) - MIN_BYTES)) / (most - MIN_BYTES));
    },
  };
}

function shareOf(snapshot: Snapshot, image: string): number {
  return snapshot.nodes.length === 0 ? 0 : snapshot.imageNodes(image) / snapshot.nodes.length;
}

/** Image names, including image volumes, as nodes report them: always with a tag or digest. */
function imagesOf({ spec }: Stored<Pod>): string[] {
  const ofContainers = podContainers(spec).map(({ image = '' }) => image);
  const ofVolumes = (spec?.volumes ?? []).flatMap(({ image }) => (image === undefined ? [] : (image.reference ?? '')));
  return [...ofContainers, ...ofVolumes].map((image) =>
    image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image,
  );
}
