package compute

import (
	"net/http"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const (
	typeEncryptionSet = "Microsoft.Compute/diskEncryptionSets"
	foreignVault      = "Microsoft.KeyVault/vaults"
)

// encryptionSetType returns the resource type of disk encryption sets, which name the key
// that encrypts disks.
func encryptionSetType() engine.Type {
	put := engine.Work{Name: "encryptionset.put", Silent: true, Finish: finishEncryptionSet}
	return engine.Type{Name: typeEncryptionSet, Style: engine.StyleCompute,
		Takes: 3 * time.Second, Created: http.StatusAccepted, Polled: true,
		Put: put, Update: put, Delete: goneDelete(), Prepare: prepareEncryptionSet, Guard: guardEncryptionSet, View: viewEncryptionSet,
		Refs: []engine.Reference{{Path: "activeKey.sourceVault", To: foreignVault}}}
}

func prepareEncryptionSet(_ *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if value.Str(p, "activeKey", "keyUrl") == "" {
		return invalid("diskEncryptionSet.properties.activeKey", "Required parameter 'activeKey.keyUrl' is missing (null).")
	}
	if old != nil && d.Body["identity"] == nil {
		d.Body["identity"] = value.Clone(old.Body["identity"])
	}
	if d.Body["identity"] == nil {
		return engine.BadRequest("InvalidParameter", "A disk encryption set needs an identity to reach its key with.")
	}
	return nil
}

// finishEncryptionSet adds the set's identity.
func finishEncryptionSet(t *engine.Tx, op *engine.Operation, result any, err *engine.Error) {
	if d := t.Edit(op.Target); d != nil && err == nil {
		giveIdentity(t, d, d)
		t.Put(d)
	}
	engine.FinishPut(t, op, result, err)
}

func guardEncryptionSet(t *engine.Tx, d *engine.Doc) *engine.Error {
	for _, typ := range []string{typeDisk, typeSnapshot} {
		if user := findByText(t, typ, d.ID, "encryption", "diskEncryptionSetId"); user != nil {
			return engine.Conflict("OperationNotAllowed",
				"Disk encryption set %s cannot be deleted because it is in use by %s.", d.Parsed.Name(), user.ID)
		}
	}
	for _, typ := range []string{typeVM, typeScale} {
		if users := t.Users(d.ID, typ); len(users) > 0 {
			return engine.Conflict("OperationNotAllowed",
				"Disk encryption set %s cannot be deleted because it is in use by %s.", d.Parsed.Name(),
				users[0].ID)
		}
	}
	return nil
}

// viewEncryptionSet removes the ID and the state Creating from the answer to the creating
// PUT, as in Azure.
func viewEncryptionSet(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if d.State() == "Creating" {
		value.Props(body)["provisioningState"] = "Updating"
	}
	if d.MadeBy(t) {
		delete(body, "id")
		delete(body, "type")
	}
}
