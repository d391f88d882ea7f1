import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Field } from '../field-error.ts';
import type { PersistentVolumeSpec, Volume, VolumeProjection } from '../gen/core-v1.ts';
import { validatePersistentVolume } from './persistent-volume.ts';
import { validateVolumes } from './pod-volumes.ts';

const told = (field: Field): string[] => field.errors.map(({ field: at, text }) => `${at}: ${text}`);

function ofPod(volume: object): string[] {
  const field = Field.root();
  validateVolumes([{ name: 'v', ...volume } as Volume], { podName: '' }, field.at('volumes'));
  return told(field).map((text) => text.replace('volumes[0].', ''));
}

function ofPersistentVolume(source: object): string[] {
  const field = Field.root();
  const rest = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
  const spec = { ...rest, ...source } as PersistentVolumeSpec;
  validatePersistentVolume({ metadata: { name: 'v' }, spec }, field);
  return told(field).map((text) => text.replace('spec.', ''));
}

const IQN = 'iqn.2026-01.example:disk';
const [required, range] = ['Required value', 'must be between 0 and 255, inclusive'];

describe('sources of volumes in pods and persistent volumes', () => {
  const cases: readonly [string, object, readonly string[]][] = [
    ['a disk of AWS', { awsElasticBlockStore: { volumeID: 'vol-1', partition: 1 } }, []],
    [
      'a disk of AWS without id',
      { awsElasticBlockStore: { partition: 256 } },
      [
        `awsElasticBlockStore.volumeID: ${required}`,
        'awsElasticBlockStore.partition: Invalid value: 256: must be between 1 and 255, inclusive',
      ],
    ],
    ['a disk of GCE without name', { gcePersistentDisk: { pdName: '' } }, [`persistentDisk.pdName: ${required}`]],
    ['glusterfs', { glusterfs: { endpoints: 'e', path: 'p' } }, []],
    ['glusterfs of nothing', { glusterfs: {} }, [`glusterfs.endpoints: ${required}`, `glusterfs.path: ${required}`]],
    ['rbd of nothing', { rbd: { monitors: [] } }, [`rbd.monitors: ${required}`, `rbd.image: ${required}`]],
    ['iscsi', { iscsi: { targetPortal: '10.0.0.1', iqn: IQN, lun: 0 } }, []],
    [
      'iscsi of nothing',
      { iscsi: { lun: 256, chapAuthSession: true } },
      [
        `iscsi.targetPortal: ${required}`,
        `iscsi.iqn: ${required}`,
        `iscsi.lun: Invalid value: 256: ${range}`,
        `iscsi.secretRef: ${required}`,
      ],
    ],
    [
      'iscsi by a wrong name',
      { iscsi: { targetPortal: '10.0.0.1', iqn: 'iqn.26', lun: 0, initiatorName: 'eui.1' } },
      [
        'iscsi.iqn: Invalid value: "iqn.26": must be valid format',
        'iscsi.initiatorname: Invalid value: "eui.1": must be valid format',
      ],
    ],
    ['fibre channel', { fc: { wwids: ['1'] } }, []],
    [
      'fibre channel to nobody',
      { fc: {} },
      [`fc.targetWWNs: ${required}: must specify either targetWWNs or wwids, but not both`],
    ],
    [
      'fibre channel to nothing',
      { fc: { targetWWNs: ['1'] } },
      [`fc.lun: ${required}: lun is required if targetWWNs is specified`],
    ],
    ['flocker', { flocker: { datasetUUID: 'u' } }, []],
    ['flocker of nothing', { flocker: {} }, [`flocker: ${required}: one of datasetName and datasetUUID is required`]],
    [
      'flocker of two things',
      { flocker: { datasetName: 'a/b', datasetUUID: 'u' } },
      [
        'flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
        `flocker.datasetName: Invalid value: "a/b": must not contain '/'`,
      ],
    ],
    [
      'a flex volume with options of ours',
      { flexVolume: { driver: 'a/b', options: { 'x.kubernetes.io/y': '1', z: '2' } } },
      [
        'flexVolume.options[x.kubernetes.io/y]: Invalid value: "x.kubernetes.io/y": kubernetes.io and k8s.io namespaces are reserved',
      ],
    ],
    [
      'a disk of Azure',
      { azureDisk: { diskName: 'd', diskURI: 'https://x', kind: 'Managed', cachingMode: 'Some' } },
      [
        'azureDisk.cachingMode: Unsupported value: "Some": supported values: "None", "ReadOnly", "ReadWrite"',
        'azureDisk.diskURI: Unsupported value: "https://x": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
      ],
    ],
    ['a driver of a wrong name', { csi: { driver: '-', volumeHandle: 'h' } }, ['csi.driver: Invalid value: "-"']],
  ];
  for (const [name, source, wanted] of cases)
    it(`${name}: ${wanted.length === 0 ? 'taken' : 'refused'}`, () => {
      for (const found of [ofPod(source), ofPersistentVolume(source)])
        assert.deepEqual(
          found.map((text, index) => (text.startsWith(wanted[index] ?? ' ') ? wanted[index] : text)),
          wanted,
        );
    });

  it('errors about iSCSI names and interface names differ between pods and persistent volumes', () => {
    const source = { iscsi: { targetPortal: `${'h'.repeat(62)}`, iqn: 'a', lun: 0, initiatorName: IQN } };
    const tooLong =
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
    assert.deepEqual(ofPod(source), [
      'iscsi.iqn: Invalid value: "a": must be valid format starting with iqn, eui, or naa',
    ]);
    assert.deepEqual(ofPersistentVolume(source), ['iscsi.iqn: Invalid value: "a": must be valid format']);
    source.iscsi = { ...source.iscsi, targetPortal: 'h'.repeat(63), iqn: IQN };
    assert.deepEqual(ofPod(source), [`name: Invalid value: "v": ${tooLong}`]);
    const { targetPortal } = source.iscsi;
    assert.deepEqual(ofPersistentVolume(source), [`iscsi.targetportal: Invalid value: "${targetPortal}": ${tooLong}`]);
  });

  it('a git repository has a URL and a directory inside the volume', () => {
    assert.deepEqual(ofPod({ gitRepo: { repository: 'https://example/x.git', directory: '.' } }), []);
    assert.deepEqual(ofPod({ gitRepo: { directory: '../x' } }), [
      `gitRepo.repository: ${required}`,
      'gitRepo.directory: Invalid value: "../x": must not contain \'..\'',
    ]);
  });
});

describe('projected volumes', () => {
  const projected = (...sources: VolumeProjection[]): string[] => ofPod({ projected: { sources } });
  const items = [{ key: 'k', path: 'p' }];

  it('the paths of a projected volume are unique', () => {
    assert.deepEqual(projected({ secret: { name: 's', items } }, { configMap: { name: 'c' } }), []);
    assert.deepEqual(projected({ secret: { name: 's', items } }, { configMap: { name: 'c', items } }), [
      'projected: Invalid value: "c": conflicting duplicate paths',
    ]);
  });

  for (const [bundle, wanted] of [
    [{ path: 'ca', name: 'b' }, []],
    [{ path: 'ca', signerName: 'example.com/s', labelSelector: {} }, []],
    [{ path: 'ca' }, [`: ${required}: either name or signerName must be specified`]],
    [
      { path: '', name: 'A' },
      ['.name: Invalid value: "A": not a valid clustertrustbundlename: ', `.path: ${required}`],
    ],
    [{ path: '../ca', signerName: 'example.com/s' }, ['.path: Invalid value: "../ca": must not contain \'..\'']],
  ] as const)
    it(`trust bundle ${JSON.stringify(bundle)}: ${wanted.length === 0 ? 'taken' : 'refused'}`, () =>
      assert.deepEqual(
        projected({ clusterTrustBundle: bundle }).map((text) => text.replace(/(clustertrustbundlename: ).*/, '$1')),
        wanted.map((text) => `projected.sources[0].clusterTrustBundle${text}`),
      ));
});
