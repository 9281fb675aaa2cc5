import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it, vi } from 'vitest';

const registered = vi.hoisted(() => ({ columns: [] as any[], sections: [] as any[] }));
vi.mock('@kinvolk/headlamp-plugin/lib', () => ({
  registerResourceTableColumnsProcessor: (p: any) => registered.columns.push(p),
  registerDetailsViewSection: (s: any) => registered.sections.push(s),
}));
vi.mock('@kinvolk/headlamp-plugin/lib/CommonComponents', () => ({
  SectionBox: ({ title, children }: any) => (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  ),
  SimpleTable: ({ columns, data }: any) => (
    <ul>
      {data.map((row: any) => (
        <li key={row.condition}>{columns.map((c: any) => c.getter(row)).join(' ')}</li>
      ))}
    </ul>
  ),
}));
import { columnsOf, Section } from './index';

const machine = {
  kind: 'AzureMachine',
  jsonData: {
    kind: 'AzureMachine',
    metadata: { creationTimestamp: '2026-11-27T09:00:00Z' },
    status: {
      conditions: [
        { type: 'Ready', status: 'False', reason: 'QuotaExceeded', message: 'VMRunning: no cores' },
        { type: 'VMRunning', status: 'False', reason: 'QuotaExceeded', message: 'no cores' },
        { type: 'NetworkInterfacesReady', status: 'True', lastTransitionTime: '2026-11-27T09:00:07Z' },
      ],
    },
  },
} as any;

describe('the plugin', () => {
  it('registers itself once', () => {
    expect(registered.columns).toHaveLength(1);
    expect(registered.sections).toEqual([Section]);
  });
  it('adds a column to tables of machines, once', () => {
    const once = columnsOf({ id: 'headlamp-azuremachines', columns: ['name'] });
    expect(once).toHaveLength(2);
    expect(once[1].getValue(machine)).toBe('VMRunning: QuotaExceeded');
    expect(columnsOf({ id: 'headlamp-azuremachines', columns: once })).toHaveLength(2);
  });
  it('adds Windows to nodes, and nothing elsewhere', () => {
    expect(columnsOf({ id: 'headlamp-nodes', columns: [] })[0].label).toBe('Windows');
    expect(columnsOf({ id: 'headlamp-pods', columns: ['name'] })).toEqual(['name']);
  });
  it('shows what is first wrong and when', () => {
    const html = renderToStaticMarkup(<Section resource={machine} />);
    expect(html).toContain('<b>VMRunning: QuotaExceeded</b>');
    expect(html).toContain('no cores');
    expect(html).toContain('NetworkInterfacesReady 7');
    expect(renderToStaticMarkup(<Section resource={{ kind: 'Pod' } as any} />)).toBe('');
  });
});
