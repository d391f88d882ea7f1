// Services, endpoints, policies and routes. Each list is as long as the API server accepts.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { address, times, type Load } from './load.ts';
import { labels, meta, pod, workload, service, slice, requirement } from './parts.ts';

export const serviceLoads: readonly Load[] = [
  {
    name: 'pods of one workload × ports of a service',
    *objects() {
      yield workload('Deployment', { replicas: 100 });
      yield service('s', { selector: labels, ports: times(2000, (at) => ({ name: `p${at}`, port: at + 1 })) });
    },
  },
  {
    name: 'slices × ports of their service',
    *objects() {
      yield service('s', { ports: times(1000, (at) => ({ name: `p${at}`, port: at + 1 })) });
      yield service('h', { clusterIP: 'None', ports: times(1000, (at) => ({ name: `p${at}`, port: at + 1 })) });
      for (const owner of ['s', 'h'])
        for (const at of times(20, (n) => n)) yield slice(`${owner}${at}`, owner, 1000, 100);
    },
  },
  {
    name: 'endpoints mirrored',
    *objects() {
      yield service('s', { ports: [{ port: 80 }] });
      yield {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: 's', namespace: 'default' },
        subsets: [
          {
            addresses: times(10_000, (at) => ({ ip: address(at) })),
            ports: times(5000, (at) => ({ name: `p${at}`, port: at + 1 })),
          },
        ],
      };
    },
  },
  {
    name: 'endpoints of many subsets',
    *objects() {
      yield service('s', { ports: [{ port: 80 }] });
      yield {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: 's', namespace: 'default' },
        subsets: times(8000, (at) => ({ addresses: [{ ip: address(at) }], ports: [{ name: `p${at}`, port: at + 1 }] })),
      };
    },
  },
  {
    name: 'network policies × pods',
    *objects() {
      for (const at of times(300, (n) => n)) yield pod(`p${at}`);
      const peers = times(2000, (at) => ({
        podSelector: { matchExpressions: [requirement(at)] },
        namespaceSelector: {},
      }));
      const ports = times(2000, (at) => ({ port: at + 1 }));
      for (const at of times(5, (n) => n))
        yield {
          apiVersion: 'networking.k8s.io/v1',
          kind: 'NetworkPolicy',
          metadata: meta(`n${at}`),
          spec: { podSelector: {}, ingress: [{ from: peers, ports }], egress: [{ to: peers, ports }] },
        };
    },
  },
  {
    name: 'ingress rules',
    *objects() {
      const path = (at: number): JsonObject => ({
        path: `/${at}`,
        pathType: 'Prefix',
        backend: { service: { name: 's', port: { number: 80 } } },
      });
      yield {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'Ingress',
        metadata: meta('i'),
        spec: {
          rules: times(100, (at) => ({ host: `h${at}.a`, http: { paths: times(100, path) } })),
          tls: times(5000, (at) => ({ hosts: [`h${at}.a`], secretName: 's' })),
        },
      };
    },
  },
  {
    name: 'services × services in the environment',
    *objects() {
      // The limit of variables with which a program can be started.
      for (const at of times(1200, (n) => n))
        yield service(`s${at}`, { ports: times(20, (n) => ({ name: `p${n}`, port: n + 1 })) });
      yield pod('p', { containers: times(100, (at) => ({ name: `c${at}`, image: 'i' })) });
    },
  },
  {
    name: 'external addresses × ports',
    *objects() {
      yield service('s', {
        selector: labels,
        externalIPs: times(5000, (at) => `11.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`).filter(
          (ip) => !ip.endsWith('.0'),
        ),
        ports: times(1000, (at) => ({ name: `p${at}`, port: at + 1 })),
      });
      yield service('l', {
        type: 'LoadBalancer',
        selector: labels,
        loadBalancerSourceRanges: times(20_000, (at) => `${address(at)}/32`),
        ports: times(100, (at) => ({ name: `p${at}`, port: at + 1 })),
      });
      for (const at of times(20, (n) => n)) yield pod(`p${at}`);
    },
  },
];
