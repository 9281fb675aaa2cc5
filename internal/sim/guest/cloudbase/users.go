package cloudbase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest/userdata"
)

const usersModule = cloudConfigModule + "plugins.users"

// maxPassword is the length of the longest password that the agent sets. A Unix hash is longer.
const maxPassword = 20

// users creates accounts one by one; an account that fails is skipped with a warning.
func (a *agent) users(ctx context.Context, v any) (bool, error) {
	list, ok := v.([]any)
	if !ok {
		return false, errors.New("users is no list")
	}
	for i, entry := range list {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		item, ok := entry.(map[string]any)
		if !ok {
			a.debugf(usersModule, "Entry %d is no mapping and is skipped", i+1)
			continue
		}
		if err := a.user(item); err != nil {
			text := fmt.Sprintf("an error occurred during user '%s' creation: %v", userdata.String(item["name"]), err)
			a.res.Problems = append(a.res.Problems, text)
			a.warnf(usersModule, "%s", text)
		}
	}
	return false, nil
}

func (a *agent) user(item map[string]any) error {
	name := userdata.String(item["name"])
	if name == "" {
		return errors.New("there is no name")
	}
	passwd, isText := item["passwd"].(string)
	if !isText && !emptyValue(item["passwd"]) {
		return errors.New("passwd is no text. The user and its SSH keys are skipped")
	}
	if n := len(passwd); n > maxPassword {
		return fmt.Errorf("passwd has %d characters; Windows takes a plain text of at most %d, not a Unix hash. "+
			"The user and its SSH keys are skipped", n, maxPassword)
	}
	if date, isText := item["expiredate"].(string); isText {
		if _, err := time.Parse("2006-1-2", date); err != nil {
			return fmt.Errorf("expiredate %q is no date", date)
		}
	}
	keys := userdata.Strings(item["ssh_authorized_keys"])
	if text, isText := item["ssh_authorized_keys"].(string); isText { // each character is a key, as in the agent
		keys = strings.Split(text, "")
	}
	if home := len(keys) > 0 || emptyValue(item["no_create_home"]); home && !emptyValue(item["inactive"]) {
		return errors.New("an inactive user can have neither SSH keys nor a home directory")
	}
	exists := a.m.HasUser(name)
	if _, err := a.m.AddUser(name, "", ""); err != nil {
		return err
	}
	switch {
	case exists:
		a.infof(usersModule, "User '%s' already exists; its password is set again", name)
	case passwd == "":
		a.infof(usersModule, "Created user '%s' with a random password", name)
	default:
		a.infof(usersModule, "Created user '%s'", name)
	}
	groups := strings.Join([]string{userdata.String(item["groups"]), userdata.String(item["primary_group"])}, ", ")
	for _, g := range userdata.Strings(groups) {
		a.debugf(usersModule, "Added user '%s' to group '%s'", name, g)
	}
	if len(keys) == 0 {
		return nil
	}
	if err := a.m.SetAuthorizedKeys(name, keys); err != nil {
		return err
	}
	a.infof(usersModule, "Wrote %d SSH keys to %s", len(keys), a.m.AuthorizedKeys(name))
	return nil
}
