package azuresim_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/fault"
)

// Example creates a resource group with the plain Azure SDK over TLS.
func Example() {
	azure, err := azuresim.Start(azuresim.Config{})
	if err != nil {
		panic(err)
	}
	defer azure.Close()
	options := &arm.ClientOptions{ClientOptions: azure.ClientOptions(), DisableRPRegistration: true}
	groups, err := armresources.NewResourceGroupsClient(azuresim.DefaultSubscription, azure.Credential(), options)
	if err != nil {
		panic(err)
	}
	group, err := groups.CreateOrUpdate(context.Background(), "demo", armresources.ResourceGroup{Location: new("westeurope")}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(*group.Name, *group.Properties.ProvisioningState)
	// Output: demo Succeeded
}

// ExampleAzure_Faults adds a fault rule and shows its effect in the call log.
func ExampleAzure_Faults() {
	azure, err := azuresim.New(azuresim.Config{})
	if err != nil {
		panic(err)
	}
	defer azure.Close()
	if _, err := azure.Faults().Add(fault.Rule{Kind: fault.Throttle, Type: "Microsoft.Network/virtualNetworks", Count: 1}); err != nil {
		panic(err)
	}
	client := azure.ClientOptions()
	client.Retry = policy.RetryOptions{MaxRetries: -1}
	vnets, err := armnetwork.NewVirtualNetworksClient(azuresim.DefaultSubscription, azure.Credential(),
		&arm.ClientOptions{ClientOptions: client, DisableRPRegistration: true})
	if err != nil {
		panic(err)
	}
	_, err = vnets.Get(context.Background(), "demo", "v", nil)
	if refused, ok := errors.AsType[*azcore.ResponseError](err); ok {
		fmt.Println(refused.StatusCode, refused.ErrorCode)
	}
	fmt.Println("throttled:", azure.CallLog().Throttled)
	// Output:
	// 429 TooManyRequests
	// throttled: 1
}
