import { ConfigMaps } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** The ConfigMap of every namespace that holds the authority. */
export const rootCaPublisherWrites: ExclusiveWrites = {
  account: 'root-ca-cert-publisher',
  writes: [
    {
      resource: ConfigMaps,
      creates: true,
      fields: [['data']],
      where: ({ metadata }) => metadata.name === 'kube-root-ca.crt',
    },
  ],
};
