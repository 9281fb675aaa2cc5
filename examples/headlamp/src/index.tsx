// casement in Headlamp: columns for machines and nodes, and a section in their details. It reads what Headlamp has read, asks
// nothing else and changes nothing.
import {
  DetailsViewSectionProps,
  registerDetailsViewSection,
  registerResourceTableColumnsProcessor,
} from '@kinvolk/headlamp-plugin/lib';
import { SectionBox, SimpleTable } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { firstWrong, ObjectData, timeline, windows } from './object';

// The kinds that have a section, and the tables that get the column of what is first wrong.
const kinds = ['Cluster', 'Machine', 'MachineDeployment', 'AzureCluster', 'AzureMachine', 'AzureMachinePoolMachine', 'AzureMachinePool'];
const tables = kinds.map(kind => `headlamp-${kind.toLowerCase()}s`);

// data is an object as the API server has it.
function data(resource: unknown): ObjectData {
  const one = resource as { jsonData?: ObjectData };
  return one?.jsonData ?? {};
}

export function summary(resource: unknown): string {
  const wrong = firstWrong(data(resource));
  return wrong ? `${wrong.condition}: ${wrong.reason}` : '';
}

export function columnsOf({ id, columns }: { id: string; columns: any[] }) {
  const add = (label: string, getValue: (resource: unknown) => string) =>
    columns.some(c => typeof c === 'object' && c.label === label) ? columns : [...columns, { label, getValue }];
  if (id === 'headlamp-nodes') {
    return add('Windows', resource => windows(data(resource)));
  }
  return tables.includes(id) ? add('First wrong', summary) : columns;
}

export function Section({ resource }: DetailsViewSectionProps) {
  if (!resource || !kinds.includes(resource.kind)) {
    return null;
  }
  const object = data(resource);
  const wrong = firstWrong(object);
  return (
    <SectionBox title="casement">
      {wrong ? (
        <p>
          <b>
            {wrong.condition}: {wrong.reason}
          </b>
          <br />
          {wrong.message}
        </p>
      ) : (
        <p>Nothing is wrong by its conditions.</p>
      )}
      <SimpleTable
        columns={[
          { label: 'Became true', getter: step => step.condition },
          { label: 'Seconds after its creation', getter: step => step.seconds.toFixed(0) },
        ]}
        data={timeline(object)}
      />
    </SectionBox>
  );
}

registerResourceTableColumnsProcessor({ id: 'casement', processor: columnsOf as any });
registerDetailsViewSection(Section);
