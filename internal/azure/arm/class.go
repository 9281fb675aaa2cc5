package arm

import (
	"errors"
	"net/http"
	"strings"
)

// Class is the meaning of an error for a caller that decides how to continue.
type Class string

const (
	// NotFound: the resource, its group or its parent does not exist.
	NotFound Class = "NotFound"
	// Conflict: the request contradicts the resource's present state, which may change.
	Conflict Class = "Conflict"
	// Busy: another operation is in progress on the resource or on a related one.
	Busy Class = "Busy"
	// Throttled: there were too many calls; Error.RetryAfter is how long no call can
	// succeed.
	Throttled Class = "Throttled"
	// Quota: the subscription's limit is reached; an administrator has to raise it.
	Quota Class = "Quota"
	// Denied: the identity lacks a permission, a policy or lock forbids the request, or
	// authentication failed.
	Denied Class = "Denied"
	// Invalid: Azure never accepts the request without a change.
	Invalid Class = "Invalid"
	// SKUNotAvailable: the size is not offered in the location or zone.
	SKUNotAvailable Class = "SKUNotAvailable"
	// Capacity: Azure has no room for the size right now.
	Capacity Class = "Capacity"
	// InUse: other resources refer to the resource that should be deleted.
	InUse Class = "InUse"
	// Failed: Azure began the operation and it failed, for example because a guest did not
	// provision.
	Failed Class = "Failed"
	// Transient: the network or the service failed for a moment.
	Transient Class = "Transient"
	// Unknown: no other class applies.
	Unknown Class = "Unknown"
)

// ClassOf returns the class of an error: "" for nil, and Unknown for errors that are not
// Azure's.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Unknown
}

// classify sets the class by code and, where the code says nothing, by status.
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

// classOfCode returns the table of ARM error codes; "" for a code it does not have. One
// code can mean several things, which its message distinguishes. Source: reference of ARM
// common errors,
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
