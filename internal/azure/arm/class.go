package arm

import (
	"errors"
	"net/http"
	"strings"
)

// Class is the meaning of an error for a caller that decides how to continue.
type Class string

const (
	// NotFound means that the resource, its group or its parent does not exist.
	NotFound Class = "NotFound"
	// Conflict means that the request contradicts the resource's current state, which may change.
	Conflict Class = "Conflict"
	// Busy means that another operation is in progress on the resource or on a related one.
	Busy Class = "Busy"
	// Throttled means that there were too many calls; no call can succeed until Error.RetryAfter has passed.
	Throttled Class = "Throttled"
	// Quota means that the subscription's limit is reached; an administrator has to raise it.
	Quota Class = "Quota"
	// Denied means that the identity lacks a permission, that a policy or lock forbids the request, or that
	// authentication failed.
	Denied Class = "Denied"
	// Invalid means that Azure never accepts this request; it has to be changed.
	Invalid Class = "Invalid"
	// SKUNotAvailable means that the size is not offered in the location or zone.
	SKUNotAvailable Class = "SKUNotAvailable"
	// Capacity means that Azure currently has no capacity for the size.
	Capacity Class = "Capacity"
	// InUse means that other resources refer to the resource to be deleted.
	InUse Class = "InUse"
	// Failed means that Azure began the operation and it failed, for example because a guest did not provision.
	Failed Class = "Failed"
	// Transient means a temporary failure of the network or the service.
	Transient Class = "Transient"
	// Unknown means that no other class applies.
	Unknown Class = "Unknown"
)

// ClassOf returns the class of an error: "" for nil, and Unknown for errors that do not come from Azure.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Unknown
}

// classify sets the class by the error code or, if the table lacks the code, by the HTTP status.
func (e *Error) classify() {
	e.Class = classOfCode(e.Code, e.Message)
	if e.Class == "" {
		e.Class = classOfStatus(e.StatusCode)
	}
	// A 429 about one busy resource, which some providers send, does not mean that the
	// whole subscription has to slow down.
	if e.StatusCode == http.StatusTooManyRequests && e.Class != Busy && e.Class != Quota {
		e.Class = Throttled
	}
}

func classOfStatus(status int) Class {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return NotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return Conflict
	case http.StatusTooManyRequests:
		return Throttled
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied
	case http.StatusRequestTimeout:
		return Transient
	}
	switch {
	case status >= 500:
		return Transient
	case status/100 == 4:
		return Invalid
	}
	return Unknown
}

// classOfCode returns the class of an ARM error code; "" for an unknown code. Some codes have several meanings, which
// the message distinguishes. Source: reference of ARM common errors,
// https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors.
func classOfCode(code, message string) Class {
	switch code {
	case "NotFound", "ResourceNotFound", "ResourceGroupNotFound", "ParentResourceNotFound", "SubscriptionNotFound",
		"GalleryImageNotFound", "ImageNotFound", "PlatformImageNotFound":
		return NotFound
	case "AnotherOperationInProgress", "RetryableError", "RetryableErrorDueToAnotherOperation",
		"CanceledAndSupersededDueToAnotherOperation", "ReferencedResourceNotProvisioned", "ResourceGroupBeingDeleted",
		"NicReservedForAnotherVm", "OperationPreempted", "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity",
		"MissingSubscriptionRegistration", "MissingRegistrationForResourceProvider", "SubscriptionNotRegistered",
		"InvalidResourceReference", "PrincipalNotFound":
		return Busy
	case "TooManyRequests", "SubscriptionRequestsThrottled":
		return Throttled
	case "QuotaExceeded", "PublicIPCountLimitReached", "ResourceQuotaExceeded":
		return Quota
	case "AuthorizationFailed", "LinkedAuthorizationFailed", "AuthenticationFailed", "InvalidAuthenticationToken",
		"ExpiredAuthenticationToken", "InvalidAuthenticationTokenTenant", "RequestDisallowedByPolicy", "ScopeLocked",
		"ReadOnlyDisabledSubscription", "MarketplacePurchaseEligibilityFailed":
		return Denied
	case "SkuNotAvailable":
		return SKUNotAvailable
	case "AllocationFailed", "ZonalAllocationFailed", "OverconstrainedAllocationRequest", "OverconstrainedZonalAllocationRequest":
		return Capacity
	case "InUseSubnetCannotBeDeleted", "InUseNetworkSecurityGroupCannotBeDeleted", "InUseRouteTableCannotBeDeleted",
		"PublicIPAddressCannotBeDeleted", "PublicIPPrefixCannotBeDeleted", "NicInUse", "LoadBalancerInUseByVirtualMachineScaleSet",
		"NetworkSecurityGroupInUseByVirtualMachineScaleSet", "CannotDeleteNatGatewayAssociatedToSubnet", "CannotDeleteResource",
		"InUseNatGatewayCannotBeDeleted", "ResourceGroupDeletionBlocked":
		return InUse
	case "OSProvisioningTimedOut", "OSProvisioningClientError", "OSProvisioningInternalError", "VMExtensionProvisioningError",
		"VMAgentStatusCommunicationError", "VMExtensionHandlerNonTransientError", "VMStartTimedOut":
		return Failed
	case "InvalidParameter", "InvalidRequestContent", "InvalidRequestFormat", "InvalidTemplate", "InvalidResourceName",
		"InvalidResourceGroup", "LocationRequired", "LocationNotAvailableForResourceType",
		"InvalidResourceLocation", "InvalidResourceGroupLocation",
		"PropertyChangeNotAllowed", "InvalidSubscriptionId", "MissingApiVersionParameter", "InvalidApiVersionParameter",
		"NoRegisteredProviderFound", "InvalidResourceType", "NetcfgSubnetRangesOverlap", "NetcfgInvalidSubnet",
		"NetcfgSubnetRangeOutsideVnet", "NetcfgInvalidIPAddress", "InvalidCIDRNotation", "InvalidAddressPrefixFormat",
		"SecurityRuleInvalidPriority", "SecurityRuleInvalidAddressPrefix", "SecurityRuleInvalidPortRange", "InvalidDomainNameLabel",
		"InvalidTagName", "InvalidTagNameCharacters", "InvalidTagValueLength", "InvalidTags", "LinkedInvalidPropertyId",
		"PrivateIPAddressNotInSubnet", "PrivateIPAddressInUse", "SubnetIsFull", "SecurityRuleConflict", "VMMarketplaceInvalidInput",
		"RoleAssignmentExists", "VnetAddressSpaceOverlapsWithAlreadyPeeredVnet":
		return Invalid
	case "InternalServerError", "ServerTimeout", "InternalExecutionError", "NetworkingInternalOperationError", "GatewayTimeout",
		"InternalOperationError", "ServiceUnavailable":
		return Transient
	case "PreconditionFailed":
		return Conflict
	case "OperationNotAllowed":
		return operationNotAllowed(message)
	}
	return ""
}

// operationNotAllowed returns the class of Compute's code OperationNotAllowed by the
// message: the quota of a family, a disk or availability set in use, or a state that will
// change.
func operationNotAllowed(message string) Class {
	m := strings.ToLower(message)
	switch {
	case strings.Contains(m, "quota"):
		return Quota
	case strings.Contains(m, "attached"), strings.Contains(m, "in use"), strings.Contains(m, "still has"), strings.Contains(m, "contains"):
		return InUse
	}
	return Conflict
}
