package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/countersign-dev/countersign/internal/mcpwire"
)

// awsChain looks for credentials where the default chain of AWS does, and in its
// order: keys in the environment, the token of a web identity, the profile of the
// shared files, the service of a container, that of the machine. Two of its places
// are left out, since their clients would make the program larger by a twentieth:
// a profile that signs in by SSO or in a browser. Its parts are put together here
// and not by the library's LoadDefaultConfig, which fetches some of them by a
// client of its own, past the rules of the network.
type awsChain struct {
	region  string
	client  *http.Client
	resolve func(reference string) (string, error)
	hide    *mcpwire.Redactor // is told what is sent on the way to the keys
}

func (c awsChain) find(ctx context.Context) (aws.Credentials, error) {
	env, err := config.NewEnvConfig()
	if err != nil {
		return aws.Credentials{}, err
	}
	switch {
	case env.Credentials.HasKeys():
		return env.Credentials, nil
	case env.WebIdentityTokenFilePath != "":
		return c.webIdentity(ctx, env, env.WebIdentityTokenFilePath, env.RoleARN, env.RoleSessionName)
	}
	name := env.SharedConfigProfile
	if name == "" {
		name = "default"
	}
	profile, err := config.LoadSharedConfigProfile(ctx, name, func(options *config.LoadSharedConfigOptions) {
		if env.SharedConfigFile != "" {
			options.ConfigFiles = []string{env.SharedConfigFile}
		}
		if env.SharedCredentialsFile != "" {
			options.CredentialsFiles = []string{env.SharedCredentialsFile}
		}
	})
	if _, isAbsent := errors.AsType[config.SharedConfigProfileNotExistError](err); err != nil && (!isAbsent || env.SharedConfigProfile != "") {
		return aws.Credentials{}, err
	}
	return c.ofProfile(ctx, env, &profile)
}

// ofProfile finds the credentials of a profile, and of the role that it assumes
// with them. The library has followed its source profiles, and refuses a circle.
func (c awsChain) ofProfile(ctx context.Context, env config.EnvConfig, profile *config.SharedConfig) (found aws.Credentials, err error) {
	switch {
	case profile.Source != nil:
		found, err = c.ofProfile(ctx, env, profile.Source)
	case profile.Credentials.HasKeys():
		found = profile.Credentials
	case profile.CredentialSource != "":
		found, err = c.ofSource(ctx, env, profile.CredentialSource)
	case profile.WebIdentityTokenFile != "":
		return c.webIdentity(ctx, env, profile.WebIdentityTokenFile, profile.RoleARN, profile.RoleSessionName)
	case profile.SSOSessionName != "" || profile.SSOStartURL != "" || profile.LoginSession != "":
		err = fmt.Errorf("the profile %s signs in by SSO or in a browser, which is not supported; use credential_process with aws configure export-credentials", profile.Profile)
	case profile.CredentialProcess != "":
		found, err = ofProcess(ctx, profile.CredentialProcess)
	default:
		found, err = c.ofMetadata(ctx, env)
	}
	if err != nil || profile.RoleARN == "" {
		return found, err
	}
	c.hide.AddCredential(found.SecretAccessKey)
	c.hide.AddCredential(found.SessionToken)
	if profile.MFASerial != "" {
		return aws.Credentials{}, errors.New("the role wants a number of a second factor, and nobody is there to give one")
	}
	wanted := url.Values{"Action": {"AssumeRole"}, "RoleArn": {profile.RoleARN}, "RoleSessionName": {sessionName(profile.RoleSessionName)}}
	if profile.ExternalID != "" {
		wanted.Set("ExternalId", profile.ExternalID)
	}
	return awsTokens{c, env.BaseEndpoint, found}.ask(ctx, wanted)
}

// ofProcess is what a program prints. The library repeats that in its error when it
// cannot read it, and keys may be in it; the innermost error says what is wrong.
func ofProcess(ctx context.Context, command string) (aws.Credentials, error) {
	found, err := processcreds.NewProvider(command).Retrieve(ctx)
	if err == nil {
		return found, nil
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return found, fmt.Errorf("credential_process: %w", err)
}

// ofSource is what a profile means by credential_source.
func (c awsChain) ofSource(ctx context.Context, env config.EnvConfig, source string) (aws.Credentials, error) {
	switch {
	case strings.EqualFold(source, "Environment"):
		return aws.Credentials{}, errors.New("the profile wants keys of the environment, and there are none") // or find had taken them
	case strings.EqualFold(source, "Ec2InstanceMetadata"):
		env.ContainerCredentialsRelativePath, env.ContainerCredentialsEndpoint = "", ""
	case strings.EqualFold(source, "EcsContainer"):
	default:
		return aws.Credentials{}, fmt.Errorf("there is no credential_source %s", source)
	}
	return c.ofMetadata(ctx, env)
}

// containerHost is where the service of an ECS container is.
const containerHost = "http://169.254.170.2"

// ofMetadata asks the service of the container or, where there is none, that of the
// machine.
func (c awsChain) ofMetadata(ctx context.Context, env config.EnvConfig) (aws.Credentials, error) {
	address := env.ContainerCredentialsEndpoint
	if env.ContainerCredentialsRelativePath != "" {
		address = containerHost + env.ContainerCredentialsRelativePath
	}
	if address == "" {
		machine := imds.New(imds.Options{
			HTTPClient: c.client, Endpoint: env.EC2IMDSEndpoint, EndpointMode: env.EC2IMDSEndpointMode,
			ClientEnableState: env.EC2IMDSClientEnableState, Retryer: aws.NopRetryer{},
		})
		return ec2rolecreds.New(func(options *ec2rolecreds.Options) { options.Client = machine }).Retrieve(ctx)
	}
	if !isOfThisHost(address) {
		return aws.Credentials{}, errors.New("the service of the container is neither on this host nor asked over https")
	}
	token := env.ContainerAuthorizationToken
	if file, err := c.resolve("env:AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); err == nil {
		if token, err = c.resolve("file:" + file); err != nil {
			return aws.Credentials{}, err
		}
	}
	c.hide.AddCredential(token)
	return endpointcreds.New(address, func(options *endpointcreds.Options) {
		options.HTTPClient, options.AuthorizationToken, options.Retryer = c.client, token, aws.NopRetryer{}
	}).Retrieve(ctx)
}

// isOfThisHost reports whether a service of credentials may be asked: over https,
// or at one of the addresses that never leave a host of AWS.
func isOfThisHost(text string) bool {
	address, err := url.Parse(text)
	if err != nil {
		return false
	}
	host, err := netip.ParseAddr(address.Hostname())
	return address.Scheme == "https" || address.Hostname() == "localhost" || err == nil && (host.IsLoopback() || host.IsLinkLocalUnicast() || host == netip.MustParseAddr("fd00:ec2::23"))
}

// webIdentity trades the token in a file, as a cluster puts it there, for keys.
func (c awsChain) webIdentity(ctx context.Context, env config.EnvConfig, file, role, session string) (aws.Credentials, error) {
	token, err := c.resolve("file:" + file)
	if err != nil {
		return aws.Credentials{}, err
	}
	c.hide.AddCredential(token)
	return awsTokens{chain: c, endpoint: env.BaseEndpoint}.ask(ctx, url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {role}, "RoleSessionName": {sessionName(session)}, "WebIdentityToken": {token},
	})
}
