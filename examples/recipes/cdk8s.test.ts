/** Manifests that cdk8s makes are applied and come up. */
import { ApiObject, App, Chart, Yaml } from 'cdk8s';
import { expect, test } from 'vitest';
import { Cluster } from 'keelson/testing';

class WebChart extends Chart {
  constructor(app: App) {
    super(app, 'shop', { namespace: 'shop', disableResourceNameHashes: true });
    const labels = { app: 'web' };
    new ApiObject(this, 'web', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
      },
    });
    new ApiObject(this, 'service', {
      apiVersion: 'v1',
      kind: 'Service',
      spec: { selector: labels, ports: [{ port: 80 }] },
    });
  }
}

test('a chart of cdk8s comes up', async () => {
  await using cluster = await Cluster.start({ nodes: 2 });
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  const chart = new WebChart(new App());
  const applied = await cluster.apply(Yaml.stringify(...(chart.toJson() as object[])));
  expect(applied.map(({ kind }) => kind)).toEqual(['Deployment', 'Service']);
  await cluster.waitFor('deployment/shop/shop-web', 'Available');
});
