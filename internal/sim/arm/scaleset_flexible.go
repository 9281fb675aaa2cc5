package arm

// scaleFlexible makes and takes away the VMs of a Flexible set.
func (t *tx) scaleFlexible(set *doc, _ size) *Error {
	return errUnsupported("scale sets with the orchestration mode Flexible and a VM profile")
}
