// What the plugin reads of an object: conditions as the API has them, and nothing from elsewhere.

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface ObjectData {
  kind?: string;
  metadata?: { name?: string; creationTimestamp?: string; labels?: Record<string, string> };
  status?: {
    conditions?: Condition[];
    nodeInfo?: { operatingSystem?: string; osImage?: string; containerRuntimeVersion?: string };
  };
}

export interface Wrong {
  condition: string;
  reason: string;
  message: string;
}

// ready are the conditions that sum up others, by kind; Ready is that of all others.
const summaries: Record<string, string> = { Cluster: 'Available', MachineDeployment: 'Available' };

function conditions(o: ObjectData): Condition[] {
  return o.status?.conditions ?? [];
}

// firstWrong returns the condition that an object's Ready says is first wrong, or null. Messages of casement's and Cluster API's
// Ready begin with that condition's name.
export function firstWrong(o: ObjectData): Wrong | null {
  const summary = conditions(o).find(c => c.type === (summaries[o.kind ?? ''] ?? 'Ready'));
  if (!summary || summary.status === 'True') {
    return null;
  }
  const message = summary.message ?? '';
  const named = /^\s*(?:\* )?([A-Z]\w+): ?/.exec(message);
  const condition = named && conditions(o).find(c => c.type === named[1]);
  return {
    condition: condition?.type ?? summary.type,
    reason: condition?.reason ?? summary.reason ?? '',
    message: condition?.message || message,
  };
}

export interface Step {
  condition: string;
  seconds: number;
}

// timeline returns when conditions became true, in seconds from the object's creation, in that order.
export function timeline(o: ObjectData): Step[] {
  const began = Date.parse(o.metadata?.creationTimestamp ?? '');
  return conditions(o)
    .filter(c => c.status === 'True' && c.lastTransitionTime)
    .map(c => ({ condition: c.type, seconds: (Date.parse(c.lastTransitionTime ?? '') - began) / 1000 }))
    .filter(s => s.seconds >= 0)
    .sort((a, b) => a.seconds - b.seconds);
}

// windows returns the Windows of a node with its build, or an empty text for another system.
export function windows(o: ObjectData): string {
  if (o.status?.nodeInfo?.operatingSystem !== 'windows') {
    return '';
  }
  const build = o.metadata?.labels?.['node.kubernetes.io/windows-build'];
  const name = o.status.nodeInfo.osImage ?? 'Windows';
  return build ? `${name} (${build})` : name;
}
