import { describe, expect, it } from 'vitest';
import { firstWrong, timeline, windows } from './object';

const at = (second: number) => `2026-11-27T09:00:${String(second).padStart(2, '0')}Z`;

describe('firstWrong', () => {
  it.each([
    ['nothing without conditions', {}, null],
    ['nothing where Ready is true', { status: { conditions: [{ type: 'Ready', status: 'True' }] } }, null],
    [
      'the condition that Ready names',
      {
        status: {
          conditions: [
            { type: 'Ready', status: 'False', reason: 'QuotaExceeded', message: 'VMRunning: no cores are left' },
            { type: 'VMRunning', status: 'False', reason: 'QuotaExceeded', message: 'no cores are left' },
          ],
        },
      },
      { condition: 'VMRunning', reason: 'QuotaExceeded', message: 'no cores are left' },
    ],
    [
      "the first of Cluster API's list",
      {
        kind: 'Cluster',
        status: {
          conditions: [
            { type: 'Available', status: 'False', reason: 'NotAvailable', message: '* WorkersAvailable:\n  * MachineDeployment a' },
            { type: 'WorkersAvailable', status: 'False', reason: 'NotAvailable', message: '* MachineDeployment a' },
          ],
        },
      },
      { condition: 'WorkersAvailable', reason: 'NotAvailable', message: '* MachineDeployment a' },
    ],
    [
      'Ready itself where it names none',
      { status: { conditions: [{ type: 'Ready', status: 'Unknown', reason: 'ReadyUnknown', message: 'nothing is known yet' }] } },
      { condition: 'Ready', reason: 'ReadyUnknown', message: 'nothing is known yet' },
    ],
  ])('finds %s', (_, object, want) => expect(firstWrong(object)).toEqual(want));
});

describe('timeline', () => {
  it('orders what became true', () => {
    const object = {
      metadata: { creationTimestamp: at(0) },
      status: {
        conditions: [
          { type: 'Ready', status: 'True', lastTransitionTime: at(40) },
          { type: 'NetworkInterfacesReady', status: 'True', lastTransitionTime: at(5) },
          { type: 'BootstrapSucceeded', status: 'False', lastTransitionTime: at(20) },
        ],
      },
    };
    expect(timeline(object)).toEqual([
      { condition: 'NetworkInterfacesReady', seconds: 5 },
      { condition: 'Ready', seconds: 40 },
    ]);
  });
  it('is empty without a time of creation', () => {
    expect(timeline({ status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at(1) }] } })).toEqual([]);
  });
});

describe('windows', () => {
  it('names the release and build of a Windows node', () => {
    const node = {
      metadata: { labels: { 'node.kubernetes.io/windows-build': '10.0.20348' } },
      status: { nodeInfo: { operatingSystem: 'windows', osImage: 'Windows Server 2022 Datacenter' } },
    };
    expect(windows(node)).toBe('Windows Server 2022 Datacenter (10.0.20348)');
  });
  it('is empty for Linux', () => expect(windows({ status: { nodeInfo: { operatingSystem: 'linux' } } })).toBe(''));
});
